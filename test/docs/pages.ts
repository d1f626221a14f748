/**
 * Which bed the commands of a page run in. Every page with commands is here, but for those of which no command can be run.
 *
 * checkout: this machine, in a copy of the repository (a page that makes namespaces itself). fabric: a cluster with Herald, three nodes
 * and two switches (fabric-bed.ts). router: a cluster with
 * two nodes beside a router that knows nothing yet (router.test.ts). apiServer: a cluster without nodes (api-server.test.ts).
 */
export const beds: Readonly<Record<string, 'checkout' | 'fabric' | 'router' | 'apiServer'>> = {
  'docs/tutorial.md': 'checkout',
  'docs/how-to/aws.md': 'apiServer',
  'docs/how-to/beside-calico-or-cilium.md': 'fabric',
  'docs/how-to/bfd.md': 'fabric',
  'docs/how-to/drain.md': 'fabric',
  'docs/how-to/dual-stack.md': 'fabric',
  'docs/how-to/explain.md': 'fabric',
  'docs/how-to/graceful-restart.md': 'fabric',
  'docs/how-to/install.md': 'apiServer',
  'docs/how-to/look-around.md': 'fabric',
  'docs/how-to/migrate-from-kube-proxy.md': 'apiServer',
  'docs/how-to/migrate-from-metallb.md': 'apiServer',
  'docs/how-to/monitoring.md': 'apiServer',
  'docs/how-to/peer-with-a-router.md': 'fabric',
  'docs/how-to/report-a-bug.md': 'fabric',
  'docs/how-to/trace-a-session.md': 'fabric',
  'docs/how-to/peer-with-bird.md': 'router',
  'docs/how-to/peer-with-frr.md': 'router',
};

export function pagesOf(bed: (typeof beds)[string]): readonly string[] {
  return Object.keys(beds).filter((page) => beds[page] === bed);
}
