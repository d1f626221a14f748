/** What removes kube-proxy's part of one table, in the language of iptables-restore (to be run with --noflush), and what that is. */
interface TableRemoval {
  readonly table: string;
  readonly script: string;
  readonly chains: readonly string[];
  /** Rules of built-in chains that lead to them. */
  readonly rules: readonly string[];
  /** Chains that stay because chains of other programs use them, each with one of those. */
  readonly kept: ReadonlyMap<string, string>;
}

/**
 * kube-proxy's chains of all its modes. Those of the kubelet (KUBE-FIREWALL, KUBE-KUBELET-CANARY, KUBE-IPTABLES-HINT, KUBE-MARK-DROP) and of other
 * programs with such names (kube-router's KUBE-POD-FW-...) are none of them.
 */
const chainNames =
  /^KUBE-(?:SERVICES|EXTERNAL-SERVICES|NODEPORTS|NODE-PORT|POSTROUTING|MARK-MASQ|FORWARD|PROXY-FIREWALL|PROXY-CANARY|SOURCE-RANGES-FIREWALL|LOAD-BALANCER|IPVS-FILTER|IPVS-OUT-FILTER|(?:SVC|SVL|EXT|FW|XLB|SEP)-[A-Z2-7]{16})$/;

const builtIn: ReadonlySet<string> = new Set(['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING']);

/** From what iptables-save prints; tables without anything of kube-proxy are left out. */
export function iptablesRemovals(saved: string): TableRemoval[] {
  return saved
    .split(/^(?=\*)/m)
    .filter((part) => part.startsWith('*'))
    .map(removalOf)
    .filter(({ chains, kept }) => chains.length > 0 || kept.size > 0);
}

function removalOf(part: string): TableRemoval {
  const lines = part.split('\n');
  const table = (lines[0] ?? '').slice(1).trim();
  const all = lines.flatMap((line) => /^:(\S+) /.exec(line)?.[1] ?? []).filter((chain) => chainNames.test(chain));
  const leading = lines.flatMap((line) => {
    const [, chain = '', target = ''] = /^-A (\S+) .*?(?:-j|-g) (\S+)/.exec(line) ?? [];
    return chainNames.test(target) && !chainNames.test(chain) ? [{ line, chain, target }] : [];
  });
  const kept = new Map(leading.filter(({ chain }) => !builtIn.has(chain)).map(({ chain, target }) => [target, chain]));
  const masquerade = kept.get('KUBE-MARK-MASQ');
  // The mark without the rule that acts upon it would be of no use.
  if (masquerade !== undefined && all.includes('KUBE-POSTROUTING')) kept.set('KUBE-POSTROUTING', masquerade);
  const chains = all.filter((chain) => !kept.has(chain));
  const rules = leading.flatMap(({ line, chain, target }) => (builtIn.has(chain) && !kept.has(target) ? [line.slice('-A '.length)] : []));
  const script = [
    `*${table}`,
    // Emptied first: they lead to each other.
    ...chains.map((chain) => `:${chain} - [0:0]`),
    ...rules.map((rule) => `-D ${rule}`),
    ...chains.map((chain) => `-X ${chain}`),
    'COMMIT',
    '',
  ].join('\n');
  return { table, script, chains, rules, kept };
}
