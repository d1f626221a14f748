import { frr } from './frr.ts';
import { hostRoot } from './root.ts';
import { commonSuite } from './suite.ts';

commonSuite(frr(hostRoot));
