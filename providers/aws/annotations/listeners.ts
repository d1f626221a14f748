import { parsed, invalid } from '../../../src/net/parsed.ts';
import { both, legacyPrefix, nlb, own, type AnnotationEntry } from './entry.ts';
import { attributeMap, boolean, certificates, integer, list, text, texts, word, type ValueType } from './value-types.ts';
import { weightedAction } from './weighted-action.ts';

const star: ValueType<'*'> = { name: '`*`', read: (text) => (text.trim() === '*' ? parsed('*') : invalid('is not "*"')) };
const portNumbers = list('port numbers', (text) =>
  /^[0-9]{1,5}$/.test(text) && Number(text) <= 65_535 ? parsed(Number(text)) : invalid('is not a port number'),
);
const backendProtocols = ['tcp', 'ssl', 'http', 'https'] as const;

/** Checks target group attributes when the annotation is read, because AWS would refuse them only after other calls succeeded. */
const targetGroupAttributes: typeof attributeMap = {
  name: attributeMap.name,
  read(text) {
    const result = attributeMap.read(text);
    if (!result.ok) return result;
    for (const key of ['preserve_client_ip.enabled', 'proxy_protocol_v2.enabled']) {
      const value = result.value[key];
      if (value !== undefined && !['true', 'false'].includes(value))
        return invalid(`says ${key}=${value}, which is neither true nor false`);
    }
    return result;
  },
};

const sharingName: ValueType<string> = {
  name: 'letters, digits, "-" and "."; or a namespace, "/" and such a text',
  read: (text) =>
    /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\/)?[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,61}[a-zA-Z0-9])?$/.test(text)
      ? parsed(text)
      : invalid('is not a name of at most 63 letters, digits, "-" and ".", with or without a namespace and "/" before it'),
};

const namespaces = list('namespaces, or `*`', (text) =>
  text === '*' || /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text) ? parsed(text) : invalid('is neither * nor the name of a namespace'),
);

const hosts = list('host names', (text) =>
  /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]+$/i.test(text) ? parsed(text.toLowerCase()) : invalid('is not a host name'),
);

const restoredWhenRemoved = 'an attribute that is no longer listed returns to its previous value';

/** Annotations about listeners, encryption and target groups. */
export const listenerAnnotations = {
  certificates: both('ssl-cert', certificates, {
    default: '-',
    description:
      'Certificates of ACM or IAM. The first is the default; the others are selected by SNI (NLB only). Enables TLS on the ports of `ssl-ports`.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'several on an NLB',
  }),
  sslPorts: both('ssl-ports', texts('port names and numbers, or `*`'), {
    default: '`*`: all ports except UDP',
    description: 'The ports that use the certificate. Items are trimmed, and names match in upper or lower case.',
    lbc: 'differs',
    cpa: 'differs',
    difference: '`*` is accepted; items are trimmed; an item that is no port of the Service is an error',
  }),
  sslPolicy: both('ssl-negotiation-policy', text, {
    default: 'NLB: `--aws-default-ssl-policy`; Classic: AWS’',
    description: 'Security policy of TLS listeners: protocols and ciphers.',
    lbc: 'differs',
    cpa: 'differs',
    difference: 'the default is a newer policy; removing the annotation restores the default',
  }),
  backendProtocol: both('backend-protocol', word(...backendProtocols), {
    default: '`tcp`',
    description:
      'The protocol to the pods. Classic: `http` and `https` proxy at layer 7 with X-Forwarded-For, `tcp` and `ssl` at layer 4; `https` and `ssl` encrypt again. NLB: `ssl` encrypts again, `http` means TCP, `https` is refused unless `--aws-upstream-backend-https` is set.',
    lbc: 'differs',
    cpa: 'differs',
    difference: '`https` on an NLB is refused, because upstream would send plain text; an unknown value is an error',
  }),
  alpnPolicy: nlb('alpn-policy', word('HTTP1Only', 'HTTP2Only', 'HTTP2Optional', 'HTTP2Preferred', 'None'), {
    default: '`None`',
    description: 'ALPN of TLS listeners.',
    lbc: 'differs',
    difference: 'removing the annotation restores None',
  }),
  tcpUdp: nlb('enable-tcp-udp-listener', boolean, {
    default: '`true`',
    description: 'TCP and UDP on one port share a TCP_UDP listener. With `false` such a Service is refused.',
    lbc: 'differs',
    difference: 'needs no flag',
  }),
  proxyProtocol: both('proxy-protocol', star, {
    default: '-',
    description: 'Sends the PROXY protocol to all targets: version 2 on an NLB, version 1 on a Classic ELB.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'also on NLBs',
  }),
  proxyProtocolPorts: nlb('proxy-protocol-per-target-group', portNumbers, {
    default: '-',
    description: 'Sends the PROXY protocol only to the targets of these ports.',
    lbc: 'yes',
  }),
  listenerAttributes: nlb('listener-attributes', attributeMap, {
    family: 'PROTOCOL-PORT',
    default: '-',
    description:
      'Attributes of a listener, by AWS’ names: `listener-attributes.TCP-80: tcp.idle_timeout.seconds=400`. TLS listeners have none.',
    lbc: 'differs',
    difference: `${restoredWhenRemoved}; attributes for no listener of the Service are a warning, and those of \`TCP-PORT\` also apply to a listener for TCP and UDP`,
  }),
  targetGroupAttributes: nlb('target-group-attributes', targetGroupAttributes, {
    default: '-',
    description: 'Attributes of all target groups, by AWS’ names.',
    lbc: 'differs',
    cpa: 'differs',
    difference: `CPA accepts two attributes; ${restoredWhenRemoved}`,
  }),
  targetGroupAttributesOfPort: nlb('target-group-attributes', targetGroupAttributes, {
    family: 'PORT',
    default: '-',
    description: 'The same for one port of the Service. Each key overrides the general annotation.',
    lbc: 'differs',
    difference: restoredWhenRemoved,
  }),
  healthCheckProtocol: both('healthcheck-protocol', word('TCP', 'HTTP', 'HTTPS', 'SSL'), {
    default: '`TCP`; `HTTP` with policy Local and instances; Classic, if a port encrypts again: `SSL`, on the first such port',
    description: 'The protocol of health checks. `SSL` only on a Classic ELB.',
    lbc: 'yes',
    cpa: 'yes',
  }),
  healthCheckPort: both('healthcheck-port', text, {
    default: '`traffic-port`; healthCheckNodePort with policy Local and instances; Classic: the NodePort of the first port',
    description: '`traffic-port`, a number, or the name of a port of the Service.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'names too',
  }),
  healthCheckPath: both('healthcheck-path', text, {
    default: '`/`; `/healthz` with policy Local and instances',
    description: 'Only with HTTP and HTTPS.',
    lbc: 'yes',
    cpa: 'yes',
  }),
  healthCheckInterval: both('healthcheck-interval', integer(5, 300), {
    default: '10',
    description: 'Seconds.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'NLB: 10, not 30',
  }),
  healthCheckTimeout: both('healthcheck-timeout', integer(2, 120), {
    default: 'NLB: 10, 6 with policy Local and instances; Classic: 5',
    description: 'Seconds.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'has an effect on NLBs',
  }),
  healthyThreshold: both('healthcheck-healthy-threshold', integer(2, 10), {
    default: 'NLB: 3, 2 with policy Local and instances; Classic: 2',
    description: 'Successes in a row.',
    lbc: 'yes',
    cpa: 'yes',
  }),
  unhealthyThreshold: both('healthcheck-unhealthy-threshold', integer(2, 10), {
    default: 'NLB: 3, 2 with policy Local and instances; Classic: 6',
    description: 'Failures in a row.',
    lbc: 'yes',
    cpa: 'yes',
  }),
  successCodes: nlb('healthcheck-success-codes', text, {
    default: '`200-399`',
    description: 'Only with HTTP and HTTPS.',
    lbc: 'yes',
  }),
  quicPorts: nlb('quic-enabled-ports', texts('port names and numbers'), {
    default: '-',
    description:
      'The UDP port that is QUIC: a QUIC listener, or TCP_QUIC if TCP has the same port. Needs targets of type `ip` and an NLB without security groups ([QUIC](aws.md#quic)).',
    lbc: 'differs',
    difference:
      'the server id of a Pod comes from its UID, so no webhook is needed; an item that is no UDP port of the Service, and what AWS does not allow with QUIC, is an error',
  }),
  weightedActions: {
    ...nlb('-', weightedAction, {
      family: 'PROTOCOL-PORT',
      default: '-',
      description:
        'Divides the connections of one listener by weights between the Service, other Services of its namespace and existing target groups ([weights](aws.md#weights)).',
      lbc: 'differs' as const,
      difference:
        'every weight is required; with TLS the targets of all Services have the protocol of those of the Service itself; an unknown field, or an action for no listener, is an error',
    }),
    key: `${legacyPrefix}actions`,
  },
  certificateOfPort: own('ssl-cert', certificates, {
    kinds: ['nlb', 'classic'],
    family: 'PORT',
    default: '`aws-load-balancer-ssl-cert`',
    description: 'Certificates of one port, given by name or number. Enables TLS on it.',
  }),
  backendProtocolOfPort: own('backend-protocol', word(...backendProtocols), {
    kinds: ['nlb', 'classic'],
    family: 'PORT',
    default: '`aws-load-balancer-backend-protocol`',
    description: 'The protocol to the pods behind one port, given by name or number.',
  }),
  certificateHosts: own('certificate-hosts', hosts, {
    kinds: ['nlb', 'classic'],
    default: '-',
    description: 'Host names for which Herald finds certificates in ACM, instead of ARNs. Requires `--aws-certificate-discovery`.',
  }),
  sharedWith: own('shared-load-balancer', sharingName, {
    default: '-',
    description:
      'Services of a namespace with the same text share one NLB. Their ports must differ. The oldest Service decides the settings of the NLB itself. `NAMESPACE/TEXT` joins the NLB of another namespace, if that namespace admits it.',
  }),
  sharedNamespaces: own('shared-load-balancer-namespaces', namespaces, {
    default: '-',
    description:
      'Other namespaces whose Services may join the NLB with `herald.dev/aws-shared-load-balancer: NAMESPACE/TEXT`. Only the oldest Service in the namespace of the NLB admits others.',
  }),
  adopt: own('load-balancer', text, {
    default: '-',
    description:
      'Name or ARN of an existing NLB to use. Its owner must have tagged it `herald.dev/cluster: CLUSTER-NAME`. Herald neither creates nor deletes it, keeps its scheme, subnets and (without `security-groups`) security groups, and changes only its own listeners.',
  }),
  foreignListeners: own('foreign-listeners', word('keep', 'remove'), {
    default: '`keep`',
    description:
      'Listeners on Herald’s own NLB that Herald did not make, on ports that no Service has: they stay, or are deleted. A warning lists them. The oldest Service decides.',
  }),
  disown: own('disown', boolean, {
    kinds: ['nlb', 'classic'],
    default: '`false`',
    description: 'Herald stops managing the load balancer: it removes its tags and changes nothing else from then on.',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;
