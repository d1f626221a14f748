import { receiverAddress, receiverAsn, senderAddress, senderAsn } from '../addresses.ts';
import { BenchProcess, file, senderNamespace } from '../bench-network.ts';
import { prefixes, type Contender } from '../sender.ts';
import { versionOf } from './version.ts';

/** ExaBGP opens its session when its process starts, so `open` starts the process. */
export function exabgp(): Contender {
  const configuration = (count: number): string => `
neighbor ${receiverAddress} {
  router-id ${senderAddress};
  local-address ${senderAddress};
  local-as ${senderAsn};
  peer-as ${receiverAsn};
  family { ipv4 unicast; }
  static {
${prefixes(count)
  .map((prefix) => `    route ${prefix} next-hop self;`)
  .join('\n')}
  }
}
`;
  return {
    name: 'ExaBGP',
    version: versionOf(['exabgp', '--version']),
    how: 'static routes of the configuration; withdrawal by a configuration without them and SIGUSR1',
    most: (slow) => (slow ? 100_000 : 10_000),
    start(count) {
      const config = file('exabgp.conf', configuration(count));
      let process: BenchProcess | undefined;
      const env = {
        'exabgp.daemon.user': 'root',
        'exabgp.log.level': 'CRIT',
        'exabgp.api.cli': 'false',
        'exabgp.tcp.attempts': '0',
      };
      const sender = {
        get pid(): number | undefined {
          return process?.pid;
        },
        count,
        open() {
          process = new BenchProcess(senderNamespace, ['exabgp', config], { env });
          return Promise.resolve();
        },
        withdraw() {
          file('exabgp.conf', configuration(0));
          process?.child.kill('SIGUSR1');
          return Promise.resolve();
        },
        stop: async () => process?.kill(),
      };
      return Promise.resolve(sender);
    },
  };
}
