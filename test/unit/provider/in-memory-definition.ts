import {
  configPart,
  integer,
  invalid,
  object,
  reasonEntry,
  reasonsOf,
  valid,
  type ProviderCommand,
  type ProviderDefinition,
} from '../../../src/controller/provider-module.ts';

const reasons = {
  InMemoryCloudFull: reasonEntry({
    brief: 'The in-memory cloud has no room for another load balancer',
    says: (d: { readonly most: number }) => `the in-memory cloud may have ${d.most} load balancers, and has them`,
    fix: () => 'delete a load balancer, or raise mostLoadBalancers in spec.in-memory-cloud of HeraldConfig/default',
  }),
};

export const cloudReason = reasonsOf(reasons);

/** `spec.in-memory-cloud` of HeraldConfig. */
export const cloudConfig = configPart(
  'in-memory-cloud',
  object({ mostLoadBalancers: integer({ min: 0, max: 100, default: 100, description: 'Load balancers of all Services together.' }) }),
  (written) => written,
);

export const cloudMetrics = {
  in_memory_cloud_calls_total: {
    type: 'counter',
    help: 'Calls to the in-memory cloud.',
    labels: { operation: 'ensure or delete' },
    of: 'controller',
  },
} as const;

const command: ProviderCommand = {
  name: 'in-memory-cloud',
  description: 'show what the in-memory cloud is',
  commands: [
    {
      name: 'greet',
      description: 'print a greeting',
      options: [{ flags: '--name <name>', description: 'whom to greet', required: true }],
      run: ({ name }, { print }) => print(`hello ${String(name)}`),
    },
  ],
};

/** Uses everything that a provider can bring. */
export const definition: ProviderDefinition<typeof cloudMetrics> = {
  name: 'in-memory-cloud',
  reasons,
  config: cloudConfig,
  metrics: cloudMetrics,
  options: [
    {
      flags: '--in-memory-cloud-third <number>',
      description: 'third octet of its addresses',
      default: 113,
      parse: (text) => (/^[0-9]{1,2}$/.test(text) ? valid(Number(text)) : invalid('Write a number below 100.')),
    },
  ],
  examples: { explain: '  herald explain service shop/web --in-memory-cloud-third 7         with other addresses' },
  commands: { 'in-memory-cloud': () => Promise.resolve(command) },
  notice: { reason: 'InMemoryCloudNews', action: 'AssignAddress', when: 'the cloud has news' },
  annotationPrefix: 'herald.dev/in-memory-cloud-',
  wording: {
    resources: 'load balancers in memory',
    calls: 'to the cloud in memory',
    planned: 'calls in memory',
    unread: 'name its module to see them',
    undrawn: 'are drawn with its module',
    serves: '--provider: Services may get load balancers in memory',
    failures: {
      call: 'a call to the cloud in memory would change something',
      deletion: 'a load balancer in memory would be deleted',
      isDeletion: (operation) => operation === 'delete',
    },
  },
};
