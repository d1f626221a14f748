import type { FilterRule, HostFilter } from '../../net/host-filter.ts';

/** Ports that iptables takes in one rule (extension multiport). */
const portsOfACommand = 15;

/**
 * Returns the fix for a chain that drops, as a command of the program whose chain it is, as far as names reveal it. `ports` are TCP ports
 * of this node.
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
  // Tables made by iptables must not get nft rules: iptables could not read them any more.
  if (table === 'filter' && family !== 'inet') {
    if (chain === 'FORWARD') return `run: ${iptables} -P FORWARD ACCEPT`;
    if (chain === 'INPUT') return `run: ${iptables} -I INPUT -p tcp -m multiport --dports ${some.join(',')} -j ACCEPT`;
  }
  return `run: nft insert rule ${family} ${table} ${chain} ${forward ? 'ct status dnat' : `tcp dport { ${some.join(', ')} }`} accept`;
}
