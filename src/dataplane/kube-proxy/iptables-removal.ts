/** The removal of kube-proxy's part of one table, in the language of iptables-restore (to be run with --noflush), with a description. */
interface TableRemoval {
  readonly table: string;
  readonly script: string;
  readonly chains: readonly string[];
  /** Rules of built-in chains that lead to the removed chains. */
  readonly rules: readonly string[];
  /** Chains that stay because chains of other programs use them, each with one of those users. */
  readonly kept: ReadonlyMap<string, string>;
}

/**
 * The chains of all modes of kube-proxy. Chains of the kubelet (KUBE-FIREWALL, KUBE-KUBELET-CANARY, KUBE-IPTABLES-HINT, KUBE-MARK-DROP) and
 * of other programs with similar names (kube-router's KUBE-POD-FW-...) do not match.
 */
const chainNames =
  /^KUBE-(?:SERVICES|EXTERNAL-SERVICES|NODEPORTS|NODE-PORT|POSTROUTING|MARK-MASQ|FORWARD|PROXY-FIREWALL|PROXY-CANARY|SOURCE-RANGES-FIREWALL|LOAD-BALANCER|IPVS-FILTER|IPVS-OUT-FILTER|(?:SVC|SVL|EXT|FW|XLB|SEP)-[A-Z2-7]{16})$/;

const builtIn: ReadonlySet<string> = new Set(['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING']);

/** Reads the output of iptables-save and returns the removals. Tables without rules of kube-proxy are left out. */
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
  // The mark has no effect without the rule that acts on it.
  if (masquerade !== undefined && all.includes('KUBE-POSTROUTING')) kept.set('KUBE-POSTROUTING', masquerade);
  const chains = all.filter((chain) => !kept.has(chain));
  const rules = leading.flatMap(({ line, chain, target }) => (builtIn.has(chain) && !kept.has(target) ? [line.slice('-A '.length)] : []));
  const script = [
    `*${table}`,
    // Chains are emptied first, because they refer to each other.
    ...chains.map((chain) => `:${chain} - [0:0]`),
    ...rules.map((rule) => `-D ${rule}`),
    ...chains.map((chain) => `-X ${chain}`),
    'COMMIT',
    '',
  ].join('\n');
  return { table, script, chains, rules, kept };
}
