import { gobgpBfd } from './bfd-gobgp.ts';
import { bfdSuite } from './bfd-suite.ts';

bfdSuite(gobgpBfd);
