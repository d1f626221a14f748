import process from 'node:process';
import { parseArgs } from 'node:util';
import { installedVersion } from '../test/moto/moto.ts';
import { Attempts } from '../../../test/bench/runner/attempts.ts';
import { conditionLines, conditions } from '../../../test/bench/runner/conditions.ts';
import { programs } from '../../../test/bench/runner/versions.ts';
import { compare } from './comparison/compare.ts';
import type { Contender } from './contenders/contender.ts';
import { Herald } from './contenders/herald.ts';
import { Lbc } from './contenders/lbc.ts';
import { measure, type Result, type Size } from './measure.ts';
import { print } from './report.ts';
import { Stage } from './stage.ts';

const help = `npm run bench:aws -- [options]

  Creates Services on a kube-apiserver, whose load balancers a controller makes in an account of moto. Measures the time to their host names, requests
  by action, the requests afterwards, memory and CPU time of the controller, and how busy moto is, which uses one processor. Each size runs twice:
  unthrottled, and with ten requests per second and action. moto activates load balancers at once; AWS takes minutes. Other work on the machine makes
  times longer. It changes the requests little.

  --services N,...  sizes, default 1,20,100. 53+1: one more when half of 53 have a load balancer; its time is in the column late
  --only WHICH      unthrottled, throttled or comparison
  --limit SECONDS   the longest wait for host names, default 180
  --idle SECONDS    how long requests are counted after the last host name, default 10
  --lbc DIR         also runs the AWS Load Balancer Controller on the same kube-apiserver and moto, with the same Services. DIR is its source tree, in
                    which you have run: CGO_ENABLED=0 go build -o controller . Then it compares what both make of Services with many
                    features, prints the differences, and fails if it does not know the reason of one
  --json            print JSON

  npm run bench:aws -- --services 200 --only unthrottled`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    services: { type: 'string', default: '1,20,100' },
    only: { type: 'string' },
    limit: { type: 'string', default: '180' },
    idle: { type: 'string', default: '10' },
    lbc: { type: 'string' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const sizes = values.services.split(',').map(readSize);
if (![undefined, 'unthrottled', 'throttled', 'comparison'].includes(values.only))
  refuse(`--only ${values.only}: unthrottled, throttled or comparison`);
const [limitSeconds, idleSeconds] = [Number(values.limit), Number(values.idle)];
if (!(limitSeconds > 0)) refuse(`--limit ${values.limit}: seconds`);
if (!(idleSeconds >= 0)) refuse(`--idle ${values.idle}: seconds`);

const attempts = new Attempts((text) => void process.stderr.write(`${text}\n`));
// Children do not keep this process alive. The kernel kills them when it ends.
const alive = setInterval(() => undefined, 1000);
const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stopping.abort(new Error(name)));
const { results, areAlike } = await run();
clearInterval(alive);
const under = conditions({ ...programs('kube-apiserver', 'etcd'), moto: installedVersion(), ...lbcVersion() });
if (values.json) console.log(JSON.stringify({ conditions: under, results, failed: attempts.failed }));
else {
  console.log([conditionLines(under), ...attempts.lines()].join('\n'));
  if (values.lbc === undefined) console.log('Herald alone: --lbc DIR also runs the AWS Load Balancer Controller');
  if (results.length > 0) print(results, idleSeconds);
}
const isWhole = areAlike && results.every(({ services, published }) => published === services);
process.exit(isWhole ? attempts.status : 1);

async function run(): Promise<{ readonly results: readonly Result[]; readonly areAlike: boolean }> {
  const lbc = values.lbc === undefined ? [] : [new Lbc(values.lbc)];
  using herald = new Herald();
  const contenders: readonly Contender[] = [herald, ...lbc];
  await using stage = await Stage.start(contenders.flatMap(({ objects }) => objects));
  const results: Result[] = [];
  for (const throttled of [false, true])
    if ([undefined, throttled ? 'throttled' : 'unthrottled'].includes(values.only))
      results.push(...(await measureAll(stage, contenders, throttled)));
  const [other] = [undefined, 'comparison'].includes(values.only) ? lbc : [];
  const areAlike = other === undefined || (await compare(stage, [herald, other], limitSeconds));
  return { results, areAlike };
}

async function measureAll(stage: Stage, contenders: readonly Contender[], throttled: boolean): Promise<Result[]> {
  const results: Result[] = [];
  for (const size of sizes)
    for (const contender of contenders) {
      process.stderr.write(`${contender.name}: ${size.services} Services${size.late ? ' and one' : ''}${throttled ? ', throttled' : ''}\n`);
      const settings = { contender, size, throttled, limitSeconds, idleSeconds, stopped: stopping.signal };
      const result = await attempts.row(`${contender.name}, ${size.services} Services`, () => measure(stage, settings));
      stopping.signal.throwIfAborted();
      if (result !== undefined) results.push(result);
    }
  return results;
}

function lbcVersion(): Readonly<Record<string, string>> {
  const [name, version] = values.lbc === undefined ? [] : new Lbc(values.lbc).name.split(' ');
  return name === undefined || version === undefined ? {} : { [name]: version };
}

function readSize(text: string): Size {
  const [, digits = '', more] = /^(\d+)(\+1)?$/.exec(text) ?? [];
  const services = Number(digits);
  if (services < 1 || services > 1000) refuse(`--services ${values.services}: numbers from 1 to 1000, or N+1, with commas between them`);
  return { services, late: more !== undefined };
}

function refuse(problem: string): never {
  console.error(problem);
  process.exit(2);
}
