import { frrBfd } from './bfd-frr.ts';
import { bfdSuite } from './bfd-suite.ts';
import { hostRoot } from './root.ts';

bfdSuite(frrBfd(hostRoot));
