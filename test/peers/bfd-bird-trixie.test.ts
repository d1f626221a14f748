import { birdBfd } from './bfd-bird.ts';
import { bfdSuite } from './bfd-suite.ts';
import { trixieRoot } from './root.ts';

bfdSuite(birdBfd(trixieRoot));
