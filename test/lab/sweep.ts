/** `node test/lab/sweep.ts [--kept]`: takes down labs whose owner is gone; with --kept also those that were left standing. */
import process from 'node:process';
import { sweep } from './teardown.ts';

const ids = await sweep({ kept: process.argv.includes('--kept') });
process.stdout.write(ids.length === 0 ? 'nothing to take down\n' : `took down ${ids.join(' ')}\n`);
