import { parseArgs } from 'node:util';
import { programPath } from '../../conformance/programs.ts';
import { endTogether } from '../../lab/ends-together.ts';
import { Attempts } from '../runner/attempts.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { programs, versionOf } from '../runner/versions.ts';
import { measureDirectReturn, type DirectReturnPackets } from './direct-return.ts';
import { measureServices, type ServicePackets } from './services.ts';

const help = `npm run bench:packets -- [options]

  Measures what a packet costs a node: one of an established connection, and the first one of a new connection. To a pod, a ClusterIP and a
  load balancer address, through Herald's rules and those of kube-proxy (nftables mode) on the same node in turns; and over a router and
  three nodes, with direct server return and without. The sender's processor does the work of all machines on the way. Needs root;
  kube-proxy takes part where scripts/setup-conformance.sh has built it.

  --services N,...  numbers of Services (default 100,1000,10000)
  --turns N         turns of each; the least time counts (default 40)
  --packets N       packets of one turn (default 10000)
  --only PART,...   services, direct-return (default both)
  --json            for machines`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    services: { type: 'string', default: '100,1000,10000' },
    turns: { type: 'string', default: '40' },
    packets: { type: 'string', default: '10000' },
    only: { type: 'string', default: 'services,direct-return' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const [turns, packets] = [Number(values.turns), Number(values.packets)];
const parts = new Set(values.only.split(','));
const attempts = new Attempts((text) => void process.stderr.write(`${text}\n`));
endTogether();

const services: ServicePackets[] = [];
const kubeProxy = parts.has('services') ? await attempts.row('kube-proxy', () => programPath('kube-proxy')) : undefined;
for (const count of parts.has('services') ? values.services.split(',').map(Number) : [])
  services.push(
    ...((await attempts.row(`Herald, ${count} Services`, () => measureServices(count, turns, packets, kubeProxy !== undefined))) ?? []),
  );
const directReturn: DirectReturnPackets[] = [];
for (const layout of parts.has('direct-return') ? (['link', 'routed'] as const) : [])
  directReturn.push(...((await attempts.row(`Herald, direct return, ${layout}`, () => measureDirectReturn(layout, turns, packets))) ?? []));

const versions = {
  nft: versionOf(['nft', '--version']),
  trafgen: versionOf(['trafgen', '--version']),
  ...(kubeProxy === undefined ? {} : programs('kube-proxy')),
};
const under = conditions(versions);
if (values.json) console.log(JSON.stringify({ conditions: under, turns, packets, services, directReturn, failed: attempts.failed }));
else {
  console.log([conditionLines(under), `The least of ${turns} turns of ${packets} packets.`, ...attempts.lines()].join('\n'));
  if (services.length > 0) console.log(`\n${serviceTable().join('\n')}`);
  if (directReturn.length > 0) console.log(`\n${directReturnTable().join('\n')}`);
}
process.exit(attempts.status);

function serviceTable(): string[] {
  const rows = [...Map.groupBy(services, ({ by, services: count }) => `${by} | ${count}`)].map(([name, found]) => {
    const cell = (traffic: string, to: string): string => cost(found.find((one) => one.traffic === traffic && one.to === to)?.microseconds);
    const cells = ['established', 'new'].flatMap((traffic) => ['pod', 'ClusterIP', 'load balancer address'].map((to) => cell(traffic, to)));
    return `| ${name} | ${cells.join(' | ')} |`;
  });
  return [
    'Microseconds of a packet (packets a second of one processor):',
    '',
    '| by | Services | established: to the pod | ClusterIP | load balancer address | new: to the pod | ClusterIP | load balancer address |',
    '|---|---:|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ];
}

function directReturnTable(): string[] {
  const rows = [...Map.groupBy(directReturn, ({ layout, by }) => `${layout === 'link' ? 'on a link' : 'behind a router'} | ${by}`)].map(
    ([name, found]) => {
      const cell = (traffic: string, family: number): string =>
        cost(found.find((one) => one.traffic === traffic && one.family === family)?.microseconds);
      return `| ${name} | ${['established', 'new'].flatMap((traffic) => [4, 6].map((family) => cell(traffic, family))).join(' | ')} |`;
    },
  );
  return ['| nodes | by | established: IPv4 | IPv6 | new: IPv4 | IPv6 |', '|---|---|---:|---:|---:|---:|', ...rows];
}

function cost(microseconds: number | undefined): string {
  return microseconds === undefined ? '' : `${microseconds.toFixed(2)} (${Math.round(1e3 / microseconds)}k)`;
}
