import { gobgp } from './gobgp.ts';
import { hostRoot } from './root.ts';
import { commonSuite } from './suite.ts';

commonSuite(gobgp(hostRoot));
