export interface KrewRelease {
  /** The version of package.json, without a "v". */
  readonly version: string;
  /** The address of the .tar.gz. */
  readonly uri: string;
  /** The digest of the .tar.gz, in hexadecimal. */
  readonly sha256: string;
}

/**
 * Returns the manifest of a krew plugin (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/). Windows is left out, because it
 * does not start programs by a `#!` line.
 */
export function krewManifest({ version, uri, sha256 }: KrewRelease): object {
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
      caveats:
        'Needs Node.js 24 or later on the PATH. Users need the ClusterRoles herald-explain and herald-drain, and the Role herald-explain-live.',
      platforms: [
        {
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] },
          uri,
          sha256,
          bin: 'kubectl-herald',
        },
      ],
    },
  };
}
