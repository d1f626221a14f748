/**
 * The environment (bed) of each page with commands. Pages whose commands cannot be run are not listed.
 *
 * - checkout: this machine, in a copy of the repository, for a page that makes namespaces itself.
 * - fabric: a cluster with Herald, three nodes and two switches (fabric-bed.ts).
 * - router: a cluster with two nodes beside a router without configuration (router.test.ts).
 * - homeLab: a cluster with three nodes behind one switch, without a router (home-lab-bed.ts).
 * - quickStart: a cluster without Herald, with three nodes that run pods, behind one switch with a router (quick-start.test.ts).
 * - apiServer: a cluster without nodes (api-server.test.ts).
 */
export const beds: Readonly<Record<string, 'checkout' | 'fabric' | 'router' | 'homeLab' | 'quickStart' | 'apiServer'>> = {
  'docs/quick-start.md': 'quickStart',
  'docs/tutorial.md': 'checkout',
  'docs/how-to/aws.md': 'apiServer',
  'docs/how-to/beside-calico-or-cilium.md': 'fabric',
  'docs/how-to/bfd.md': 'fabric',
  'docs/how-to/console.md': 'fabric',
  'docs/how-to/drain.md': 'fabric',
  'docs/how-to/dual-stack.md': 'fabric',
  'docs/how-to/explain.md': 'fabric',
  'docs/how-to/graceful-restart.md': 'fabric',
  'docs/how-to/home-lab.md': 'homeLab',
  'docs/how-to/install.md': 'quickStart',
  'docs/how-to/look-around.md': 'fabric',
  'docs/how-to/migrate-from-calico.md': 'apiServer',
  'docs/how-to/migrate-from-cilium.md': 'apiServer',
  'docs/how-to/migrate-from-kube-proxy.md': 'apiServer',
  'docs/how-to/migrate-from-kube-vip.md': 'apiServer',
  'docs/how-to/migrate-from-metallb.md': 'apiServer',
  'docs/how-to/migrate-from-others.md': 'apiServer',
  'docs/how-to/monitoring.md': 'apiServer',
  'docs/how-to/peer-with-a-router.md': 'fabric',
  'docs/how-to/receive-routes.md': 'fabric',
  'docs/how-to/report-a-bug.md': 'fabric',
  'docs/how-to/trace-a-session.md': 'fabric',
  'docs/how-to/upgrade.md': 'quickStart',
  'docs/how-to/peer-with-bird.md': 'router',
  'docs/how-to/peer-with-frr.md': 'router',
  'docs/how-to/peer-with-openwrt.md': 'router',
  'docs/how-to/peer-with-opnsense.md': 'router',
  'docs/how-to/peer-with-pfsense.md': 'router',
  'docs/how-to/peer-with-unifi.md': 'router',
  'docs/how-to/peer-with-vyos.md': 'router',
};

export function pagesOf(bed: (typeof beds)[string]): readonly string[] {
  return Object.keys(beds).filter((page) => beds[page] === bed);
}
