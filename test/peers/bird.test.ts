import { bird } from './bird.ts';
import { hostRoot } from './root.ts';
import { commonSuite } from './suite.ts';

commonSuite(bird(hostRoot));
