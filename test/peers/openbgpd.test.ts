import { openbgpd } from './openbgpd.ts';
import { hostRoot } from './root.ts';
import { commonSuite } from './suite.ts';

commonSuite(openbgpd(hostRoot));
