import { frrBfd } from './bfd-frr.ts';
import { bfdSuite } from './bfd-suite.ts';
import { trixieRoot } from './root.ts';

bfdSuite(frrBfd(trixieRoot));
