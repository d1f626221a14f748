import { manyPeersAddress, receiverAddress, receiverAsn, senderAddress, senderAsn } from '../addresses.ts';
import { bgpdPath, run, senderNamespace, startBgpd } from '../../../../test/bench/runner/bench-network.ts';
import { openVty } from '../receiver.ts';
import { prefixes, type Contender } from '../sender.ts';

export function frr(): Contender {
  return {
    name: 'FRR',
    version: run(bgpdPath(), '--version').split('\n')[0]?.replace('bgpd version ', '') ?? '',
    how: 'network statements; withdrawal by a route map that denies all',
    async start(count) {
      const { process, vty: path } = startBgpd(
        senderNamespace,
        `
log file /dev/null
route-map NONE deny 10
router bgp ${senderAsn}
 bgp router-id ${senderAddress}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor ${receiverAddress} remote-as ${receiverAsn}
 neighbor ${receiverAddress} timers connect 1
 neighbor ${receiverAddress} shutdown
 address-family ipv4 unicast
${prefixes(count)
  .map((prefix) => `  network ${prefix}`)
  .join('\n')}
`,
      );
      const vty = await openVty(process, path);
      return {
        pid: process.pid,
        count,
        open: () => vty.configure(`router bgp ${senderAsn}`, `no neighbor ${receiverAddress} shutdown`),
        withdraw: () =>
          vty.configure(`router bgp ${senderAsn}`, 'address-family ipv4 unicast', `neighbor ${receiverAddress} route-map NONE out`),
        stop: async () => {
          vty.close();
          await process.kill();
        },
      };
    },
    async startMany(peers, count) {
      const { process, vty: path } = startBgpd(
        senderNamespace,
        `
log file /dev/null
route-map NONE deny 10
router bgp ${senderAsn}
 bgp router-id ${senderAddress}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor TOR peer-group
 neighbor TOR remote-as ${receiverAsn}
 neighbor TOR timers connect 1
 neighbor TOR disable-connected-check
${Array.from({ length: peers }, (_, n) => ` neighbor ${manyPeersAddress(n)} peer-group TOR`).join('\n')}
 address-family ipv4 unicast
  neighbor TOR route-map NONE out
${prefixes(count)
  .map((prefix) => `  network ${prefix}`)
  .join('\n')}
`,
      );
      const vty = await openVty(process, path);
      const change = (command: string): Promise<void> => vty.configure(`router bgp ${senderAsn}`, 'address-family ipv4 unicast', command);
      return {
        pid: process.pid,
        announce: async () => {
          await change('no neighbor TOR route-map NONE out');
          return count;
        },
        withdraw: () => change('neighbor TOR route-map NONE out'),
        stop: async () => {
          vty.close();
          await process.kill();
        },
      };
    },
  };
}
