import { frr } from './frr.ts';
import { trixieRoot } from './root.ts';
import { commonSuite } from './suite.ts';

commonSuite(frr(trixieRoot));
