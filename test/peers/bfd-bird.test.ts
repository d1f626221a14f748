import { birdBfd } from './bfd-bird.ts';
import { bfdSuite } from './bfd-suite.ts';
import { hostRoot } from './root.ts';

bfdSuite(birdBfd(hostRoot));
