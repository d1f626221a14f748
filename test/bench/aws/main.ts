import process from 'node:process';
import { parseArgs } from 'node:util';
import { idleSeconds, measure, type Result } from './measure.ts';

const help = `npm run bench:aws -- [options]

  Creates Services in an account of moto and measures how long the controller needs for their load balancers, its requests by action, the
  requests of ${idleSeconds} idle seconds, memory and CPU time. Each size runs twice: unthrottled, and with ten requests per second and action. moto
  activates load balancers at once; AWS takes minutes. Other work on the machine makes times longer. It does not change the requests much.

  --services N,...  sizes, default 1,20,100
  --only WHICH      unthrottled or throttled
  --limit SECONDS   the longest wait for host names, default 180
  --json            print JSON

  npm run bench:aws -- --services 200 --only unthrottled`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    services: { type: 'string', default: '1,20,100' },
    only: { type: 'string' },
    limit: { type: 'string', default: '180' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const sizes = values.services.split(',').map(Number);
if (!sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= 1000))
  refuse(`--services ${values.services}: numbers from 1 to 1000, with commas between them`);
if (![undefined, 'unthrottled', 'throttled'].includes(values.only)) refuse(`--only ${values.only}: unthrottled or throttled`);
const limit = Number(values.limit);
if (!(limit > 0)) refuse(`--limit ${values.limit}: seconds`);

// Children do not keep this process alive. The kernel kills them when it ends.
const alive = setInterval(() => undefined, 1000);
const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stopping.abort(new Error(name)));
const results: Result[] = [];
for (const throttled of [false, true]) {
  if (values.only === (throttled ? 'unthrottled' : 'throttled')) continue;
  for (const size of sizes) {
    process.stderr.write(`${size} Services${throttled ? ', throttled' : ''}\n`);
    results.push(await measure(size, throttled, limit, stopping.signal));
  }
}
clearInterval(alive);
if (values.json) console.log(JSON.stringify(results));
else print();
process.exit(results.every(({ services, published }) => published === services) ? 0 : 1);

function print(): void {
  console.log('| Services | throttled | first, median, last host name | requests per Service | refused | idle | peak RSS | CPU | load |');
  console.log('|---:|---|---|---:|---:|---:|---:|---:|---:|');
  for (const one of results) {
    const times = [one.first, one.median, one.last].map((time) => `${time.toFixed(1)} s`).join(', ');
    const missing = one.published === one.services ? '' : ` (${one.services - one.published} missing)`;
    const cells = [
      one.services,
      one.throttled ? 'yes' : 'no',
      `${times}${missing}`,
      one.perService.toFixed(1),
      one.refused,
      one.idle,
      `${one.peakMegabytes.toFixed(0)} MB`,
      `${one.cpu.toFixed(1)} s`,
      one.load.toFixed(1),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
  for (const one of results) {
    console.log(`\n${one.services} Services${one.throttled ? ', throttled' : ''}: ${actions(one.byAction)}`);
    if (one.idle > 0) console.log(`  idle: ${actions(one.idleByAction)}`);
  }
}

function actions(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([action, count]) => `${action} ${count}`)
    .join(', ');
}

function refuse(problem: string): never {
  console.error(problem);
  process.exit(2);
}
