import { bird } from './bird.ts';
import { trixieRoot } from './root.ts';
import { commonSuite } from './suite.ts';

commonSuite(bird(trixieRoot));
