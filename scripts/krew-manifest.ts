export interface KrewRelease {
  /** The version of package.json, without a "v". */
  readonly version: string;
  /** The archive for every system with Node.js. */
  readonly anywhere: Archive;
  /** The archives that need no Node.js, by architecture of Linux. */
  readonly linux: Readonly<Record<string, Archive>>;
}

interface Archive {
  /** The address of the .tar.gz. */
  readonly uri: string;
  /** The digest of the .tar.gz, in hexadecimal. */
  readonly sha256: string;
}

const architectures = ['amd64', 'arm64'];

/**
 * Returns the manifest of a krew plugin (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/). Windows is left out, because it
 * does not start programs by a `#!` line.
 */
export function krewManifest({ version, anywhere, linux }: KrewRelease): object {
  const platform = (os: string, arch: string): object => ({
    selector: { matchLabels: { os, arch } },
    ...((os === 'linux' ? linux[arch] : undefined) ?? anywhere),
    bin: 'kubectl-herald',
  });
  const withNode = ['macOS', ...architectures.filter((arch) => linux[arch] === undefined).map((arch) => `Linux on ${arch}`)];
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'herald' },
    spec: {
      version: `v${version}`,
      shortDescription: 'Explain load balancer addresses, BGP routes and forwarding',
      description: [
        'Explains why a Service of type LoadBalancer has an address or not, which nodes announce and forward it, and whether clients reach it. Shows sessions, routes and pools,',
        'the history of a Service, and what manifests would change. Drains nodes and collects a bug report. For clusters that run Herald.',
      ].join('\n'),
      caveats: `Needs Node.js 24 or later on the PATH on ${withNode.join(' and ')}. Users need the ClusterRoles herald-explain and herald-drain, and the Role herald-explain-live.`,
      platforms: ['linux', 'darwin'].flatMap((os) => architectures.map((arch) => platform(os, arch))),
    },
  };
}
