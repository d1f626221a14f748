export interface KrewRelease {
  /** Of package.json, without a v. */
  readonly version: string;
  /** Where the .tar.gz is. */
  readonly uri: string;
  /** Of the .tar.gz, in hexadecimal. */
  readonly sha256: string;
}

/** A plugin of krew, https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/. Windows runs no file by its first line, so it is left out. */
export function krewManifest({ version, uri, sha256 }: KrewRelease): object {
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'herald' },
    spec: {
      version: `v${version}`,
      shortDescription: 'Explain load balancer addresses, BGP routes and forwarding',
      description: [
        'Says why a Service of type LoadBalancer has its address or not, which nodes announce and forward it and what clients meet; shows sessions, routes and pools;',
        'tells what happened to a Service, and beforehand what manifests would change; drains nodes; collects what a bug report needs. For clusters that run Herald.',
      ].join('\n'),
      caveats:
        'Needs Node.js 24 or later on the PATH, the ClusterRoles herald-explain and herald-drain, and the Role herald-explain-live, for whoever uses it.',
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
