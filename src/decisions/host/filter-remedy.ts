import type { FilterRule, HostFilter } from '../../net/host-filter.ts';

/** As many as iptables takes in one rule (its extension multiport). */
const portsOfACommand = 15;

/**
 * What to do about a chain that drops, in the words of the program whose chain it is, as far as its names tell. `ports`: of TCP, on
 * this node itself.
 */
export function remedyFor(filter: HostFilter, ports: readonly number[]): string {
  const forward = filter.hook === 'forward';
  const { backend, family, table, chain } = filter;
  const some = ports.slice(0, portsOfACommand);
  const jumps = [...filter.chains.values()].flat().flatMap(({ action }: FilterRule) => ('chain' in action ? [action.chain] : []));
  const iptables = `${family === 'ip6' ? 'ip6tables' : 'iptables'}${backend === 'iptables' ? '-legacy' : ''}`;
  if (table === 'firewalld') {
    return forward
      ? 'set StrictForwardPorts=no in /etc/firewalld/firewalld.conf and run: firewall-cmd --reload'
      : `run: firewall-cmd --permanent ${some.map((port) => `--add-port=${port}/tcp`).join(' ')}, then: firewall-cmd --reload`;
  }
  if (jumps.some((name) => name.startsWith('ufw')))
    return forward ? 'run: ufw default allow routed' : `run: ufw allow ${some.join(',')}/tcp`;
  if (forward && jumps.includes('DOCKER-USER')) {
    return `run: ${iptables} -I DOCKER-USER -j ACCEPT; or set "ip-forward-no-drop": true in /etc/docker/daemon.json (Docker 28)`;
  }
  // Tables that iptables made must not get rules of nft: iptables could not read them any more.
  if (table === 'filter' && family !== 'inet') {
    if (chain === 'FORWARD') return `run: ${iptables} -P FORWARD ACCEPT`;
    if (chain === 'INPUT') return `run: ${iptables} -I INPUT -p tcp -m multiport --dports ${some.join(',')} -j ACCEPT`;
  }
  return `run: nft insert rule ${family} ${table} ${chain} ${forward ? 'ct status dnat' : `tcp dport { ${some.join(', ')} }`} accept`;
}
