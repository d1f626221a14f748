import { entry } from './entry.ts';

/** What is wrong with a host, or missing on it. Agents say it of their node; nothing waits for it. */
export const hostReasons = {
  HealthCheckNotServed: entry({
    brief: 'The health-check node port cannot be served',
    says: (d: { readonly port: number; readonly family: string; readonly why: string }) =>
      `health-check node port ${d.port} is not served over ${d.family}, and load balancers that ask there send nothing to this node: ${d.why}`,
    fix: (d) => `free the port (ss -ltnp "sport = :${d.port}" tells who has it); it is served at once when it is free`,
  }),
  HealthzNotServed: entry({
    brief: 'The health of the node cannot be served',
    says: (d: { readonly address: string; readonly why: string }) => `/healthz is not served at ${d.address}: ${d.why}`,
    fix: () => 'stop kube-proxy where it still runs; or give another --healthz-bind-address, or none',
  }),
};
