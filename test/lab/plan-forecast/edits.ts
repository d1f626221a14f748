/** The manifests of the lab by file name. */
export type Files = Map<string, string>;

export interface Edit {
  readonly name: string;
  readonly change: (files: Files) => void;
}

/** Three Services beside that of the examples: one with a pod on one node only, one of IPv4 only, and one outside the default pool. */
export const ownServices = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: solo }
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  ipFamilyPolicy: SingleStack
  ipFamilies: [IPv4]
  clusterIP: 10.96.0.60
  clusterIPs: [10.96.0.60]
  healthCheckNodePort: 30960
  ports: [{ port: 80, targetPort: 8080, nodePort: 30961 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: solo-v4, labels: { kubernetes.io/service-name: solo } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.244.1.10], nodeName: node1, conditions: { ready: true } }]
${serviceOf('plain', 61)}`;

/** A Service of IPv4 with a pod on node2. It moves back when an edit of its pool is undone, because it names its pool. */
function serviceOf(name: string, ordinal: number, pool = 'public'): string {
  return `---
apiVersion: v1
kind: Service
metadata: { namespace: guest, name: ${name}, annotations: { herald.dev/address-pool: ${pool} } }
spec: { type: LoadBalancer, clusterIP: 10.96.0.${ordinal}, ports: [{ port: 80, targetPort: 8080, nodePort: 309${ordinal} }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: guest, name: ${name}-v4, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.244.2.10], nodeName: node2, conditions: { ready: true } }]
`;
}

const [cluster, fabric, web, own] = ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml', '40-own.yaml'] as const;

export const edits: readonly Edit[] = [
  {
    name: 'a Namespace and a label that nothing selects are added',
    change: both(add(cluster, namespace('zz')), node(1, 'labels: {', 'labels: { a: b, ')),
  },
  { name: 'another hold time', change: peer('tor1-v4', 'holdTime: 9s', 'holdTime: 12s') },
  { name: 'another connect time', change: peer('tor1-v4', 'connectTime: 1s', 'connectTime: 2s') },
  { name: 'graceful restart', change: peer('tor2-v6', 'connectTime: 1s', 'connectTime: 1s, enableGracefulRestart: true') },
  { name: 'another AS number of a router', change: peer('tor1-v4', 'peerASN: 65101', 'peerASN: 65999') },
  { name: 'the AS number of a router as any external one', change: peer('tor1-v4', 'peerASN: 65101', 'dynamicASN: external') },
  { name: 'another AS number of the nodes', change: peer('tor2-v6', 'myASN: 64512', 'myASN: 64999') },
  { name: 'a password that the router lacks', change: peer('tor1-v4', 'connectTime: 1s', 'connectTime: 1s, password: secret-word') },
  { name: 'an address at which there is no router', change: peer('tor1-v4', 'peerAddress: 10.1.0.1,', 'peerAddress: 10.1.0.99,') },
  { name: 'a session is shut down', change: peer('tor2-v4', 'connectTime: 1s', 'connectTime: 1s, adminDown: true') },
  { name: 'a BGPPeer is removed', change: without(fabric, 'name: tor2-v6') },
  {
    name: 'a BGPPeer is for the nodes of one rack only',
    change: peer('tor1-v6', 'connectTime: 1s', `connectTime: 1s, nodeSelectors: [${rack('a')}]`),
  },
  { name: 'a node is drained', change: node(2, 'name: node2', 'name: node2, annotations: { herald.dev/drain: "true" }') },
  {
    name: 'a node with the only pod of a Service is drained',
    change: node(1, 'name: node1', 'name: node1, annotations: { herald.dev/drain: "true" }'),
  },
  {
    name: 'a taint that drains',
    change: both(
      node(3, 'spec: {', 'spec: { taints: [{ key: leaving, effect: NoSchedule }],'),
      replace(fabric, 'nodeDrain: {', 'nodeDrain: { taint: leaving,'),
    ),
  },
  {
    name: 'a Service is drained',
    change: replace(web, 'labels: { reach: fabric }', 'labels: { reach: fabric }, annotations: { herald.dev/drain: "true" }'),
  },
  { name: 'the advertisement is removed', change: without(fabric, 'metadata: { name: services }') },
  { name: 'the advertisement is for one rack', change: advertisement(`nodeSelectors: [${rack('b')}]`) },
  { name: 'another community', change: replace(fabric, '64512:100', '64512:200') },
  { name: 'LOCAL_PREF to external routers', change: advertisement('localPref: 300') },
  { name: 'aggregates', change: advertisement('aggregationLength: 31') },
  {
    name: 'a Service is removed',
    change: (files) =>
      void files.set(
        own,
        (files.get(own) ?? '').slice(0, (files.get(own) ?? '').indexOf('---\napiVersion: v1\nkind: Service\nmetadata: { namespace: guest')),
      ),
  },
  { name: 'a Service is added', change: add(own, serviceOf('more', 62)) },
  {
    name: 'a Service moves to another pool',
    change: replace(own, 'herald.dev/address-pool: public', 'herald.dev/address-pool: tiny'),
  },
  {
    name: 'a Service goes to another class',
    change: replace(
      own,
      '{ type: LoadBalancer, clusterIP: 10.96.0.61',
      '{ type: LoadBalancer, loadBalancerClass: example.com/other, clusterIP: 10.96.0.61',
    ),
  },
  { name: 'the pool has other addresses', change: replace(fabric, '198.51.100.10-198.51.100.99', '198.51.100.150-198.51.100.199') },
  {
    name: 'a Service is added whose pool no BGPAdvertisement covers',
    change: both(add(own, serviceOf('more', 62, 'tiny')), advertisement('ipAddressPools: [public]')),
  },
  { name: 'a Node is removed', change: without(cluster, 'name: node3') },
  {
    name: 'the only pod of a Service moves to another node',
    change: replace(own, '[10.244.1.10], nodeName: node1', '[10.244.2.10], nodeName: node2'),
  },
  {
    name: 'a Service has no ready endpoint',
    change: replace(own, 'endpoints: [{ addresses: [10.244.2.10], nodeName: node2, conditions: { ready: true } }]', 'endpoints: []'),
  },
  {
    name: 'a Service gets a port',
    change: replace(
      web,
      '    - { name: echo',
      '    - { name: more, protocol: TCP, port: 81, targetPort: 8080, nodePort: 30081 }\n    - { name: echo',
    ),
  },
  { name: 'external IPs are removed', change: replace(web, /externalIPs: .*\n/, '') },
];

function replace(file: string, from: string | RegExp, to: string): Edit['change'] {
  return (files) => {
    const before = files.get(file) ?? '';
    const after = before.replace(from, to);
    if (after === before) throw new Error(`the edit of ${file} changes nothing`);
    files.set(file, after);
  };
}

function add(file: string, document: string): Edit['change'] {
  return (files) => void files.set(file, `${files.get(file) ?? ''}${document}`);
}

/** Removes the object in which the text occurs. */
function without(file: string, text: string): Edit['change'] {
  return (files) => {
    const objects = (files.get(file) ?? '').split('\n---\n');
    const left = objects.filter((one) => !one.includes(text));
    if (left.length !== objects.length - 1) throw new Error(`${text} occurs in ${objects.length - left.length} objects of ${file}`);
    files.set(file, left.join('\n---\n'));
  };
}

function both(one: Edit['change'], other: Edit['change']): Edit['change'] {
  return (files) => {
    one(files);
    other(files);
  };
}

/** Changes the object in which `name` occurs. */
function within(file: string, name: string, from: string, to: string): Edit['change'] {
  return (files) => {
    const objects = (files.get(file) ?? '').split('\n---\n');
    const after = objects.map((one) => (one.includes(name) ? one.replace(from, to) : one));
    if (after.join() === objects.join()) throw new Error(`the edit of ${name} changes nothing`);
    files.set(file, after.join('\n---\n'));
  };
}

function peer(name: string, from: string, to: string): Edit['change'] {
  return within(fabric, `name: ${name} `, from, to);
}

function node(index: number, from: string, to: string): Edit['change'] {
  return within(cluster, `name: node${index},`, from, to);
}

function advertisement(field: string): Edit['change'] {
  return replace(fabric, 'addressTypes: [LoadBalancer, ExternalIP],', `addressTypes: [LoadBalancer, ExternalIP], ${field},`);
}

function rack(name: string): string {
  return `{ matchLabels: { rack: ${name} } }`;
}

function namespace(name: string): string {
  return `\n---\napiVersion: v1\nkind: Namespace\nmetadata: { name: ${name} }\n`;
}
