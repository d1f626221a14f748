/**
 * `node test/lab/sweep.ts [--kept | ID]` takes down labs whose owner is gone. With --kept it also takes down all kept labs, and with an id
 * only that lab.
 */
import process from 'node:process';
import { sweep } from './teardown.ts';

const [which] = process.argv.slice(2);
const ids = await sweep(which === undefined ? {} : { kept: which === '--kept' ? true : which });
process.stdout.write(ids.length === 0 ? 'nothing to take down\n' : `took down ${ids.join(' ')}\n`);
