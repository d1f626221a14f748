import { reasonEntry, userMistake } from '../../../../src/model/reasons/entry.ts';

export interface NotAllowed {
  /** The list in the policy. */
  readonly field: string;
  /** The kind of thing in the list: "security group". */
  readonly what: string;
  readonly namespace: string;
  /** "": no annotation asks for it. */
  readonly key: string;
  /** The annotation in which a Service names such resources. */
  readonly annotation: string;
  readonly refused: string;
  /** "": nothing is. */
  readonly allowed: string;
  /** `field` is one value, not a list. */
  readonly isSetting: boolean;
  /** Names of the policies that select the namespace. "": its labels are not known. */
  readonly policies: string;
}

function insteadOf({ key, annotation, what, allowed }: NotAllowed): string {
  if (allowed !== '') return `write ${allowed} in ${annotation}`;
  return key === '' ? `name another ${what} in ${annotation}` : `remove ${key}`;
}

/** Reasons why Herald leaves something in AWS alone: it belongs to another owner, or HeraldConfig does not allow it. */
export const awsOwnershipReasons = {
  AwsForeignLoadBalancer: userMistake({
    brief: 'The load balancer belongs to another owner',
    says: (d: { readonly name: string; readonly why: string }) => `load balancer ${d.name} is not ours: ${d.why}`,
    fix: () =>
      'choose another aws-load-balancer-name; or adopt it with herald.dev/aws-load-balancer, after its owner has stopped managing it and tagged it herald.dev/cluster: CLUSTER-NAME; a tag of another controller must be removed after that controller has been stopped',
  }),
  AwsClusterNameTaken: reasonEntry({
    brief: 'Another cluster has the same --aws-cluster-name, so nothing is changed in AWS',
    /** `own` is "" in a directory of manifests. */
    says: (d: { readonly cluster: string; readonly own: string; readonly other: string; readonly resource: string }) =>
      `${d.resource} has the name of this cluster (--aws-cluster-name ${d.cluster}), but the UID ${d.other} of another one; ${
        d.own === '' ? 'this one is a directory of manifests and has no UID' : `this one has ${d.own}`
      }, so nothing is changed in AWS`,
    // Without the resource: which one is found first differs each time.
    lasting: (d) =>
      `the cluster with UID ${d.other} has the same --aws-cluster-name ${d.cluster}${d.own === '' ? '' : ` as this one with UID ${d.own}`}, so nothing is changed in AWS`,
    fix: (d) =>
      `start the controller of one cluster with another --aws-cluster-name; or, if the cluster with UID ${d.other} is gone or shall leave its load balancers to this one, stop its controller and start this one with --aws-take-over ${d.other}`,
  }),
  AwsClassNotServed: reasonEntry({
    field: 'spec.loadBalancerClass',
    givesAway: true,
    brief: 'HeraldConfig leaves the class of the Service to another controller',
    says: (d: { readonly class: string }) =>
      `spec.loadBalancerClass is "${d.class}", which spec.aws.classes of HeraldConfig/default does not name, so Herald leaves the Service to another controller`,
    fix: (d) => `let the other controller serve it; or stop that controller and add ${d.class} to spec.aws.classes of HeraldConfig/default`,
  }),
  AwsOtherController: userMistake({
    unseen: () => true,
    brief: 'Another controller serves the Service',
    says: (d: { readonly finalizer: string; readonly both: boolean }) =>
      `the Service has the finalizer ${d.finalizer} of another controller, which serves it, so Herald changes neither its status nor ${d.both ? "Herald's own load balancer for it" : 'anything in AWS'}`,
    fix: (d) =>
      `let one controller serve the Service: stop the other one and then remove the finalizer ${d.finalizer}; or remove the class of the Service from spec.aws.classes of HeraldConfig/default${d.both ? ', and Herald deletes its load balancer' : ''}`,
  }),
  AwsNotAllowed: userMistake({
    brief: 'A policy of HeraldConfig does not allow what the Service asks of AWS',
    says: (d: NotAllowed) =>
      `${d.key === '' ? 'the load balancer would have' : `annotation ${d.key} asks for`} ${d.what} ${d.refused}, which ${
        d.policies === ''
          ? `no policy can allow, because Namespace "${d.namespace}" is not known yet`
          : `HeraldConfig/default does not allow in namespace "${d.namespace}" (spec.aws.policies: ${d.policies})`
      }`,
    fix: (d) =>
      d.policies === ''
        ? `wait, or create Namespace "${d.namespace}"`
        : `${insteadOf(d)}; or let the operator ${d.isSetting ? 'set' : `add ${d.refused} to`} ${d.field} of a policy in spec.aws.policies of HeraldConfig/default`,
  }),
  AwsAdoptedNotFound: userMistake({
    brief: 'The load balancer to be adopted does not exist',
    says: (d: { readonly name: string }) => `there is no NLB ${d.name} in the VPC`,
    fix: () => 'write the name or ARN of an existing NLB of the same VPC',
  }),
  AwsListenerForeign: userMistake({
    brief: 'A listener that is not ours has the port',
    says: (d: { readonly port: number }) => `the load balancer already has a listener on port ${d.port} that Herald did not make`,
    fix: () => 'delete that listener, or use another port',
  }),
  AwsListenersUnknown: reasonEntry({
    brief: 'The load balancer has listeners that Herald did not make',
    says: (d: { readonly name: string; readonly ports: string; readonly removed: boolean }) =>
      `load balancer ${d.name} has listeners that Herald did not make, on ports ${d.ports}: ${d.removed ? 'they are deleted' : 'they stay'}`,
    fix: (d) =>
      d.removed
        ? 'stop the program that makes them; or set herald.dev/aws-foreign-listeners: keep'
        : 'delete them; or set herald.dev/aws-foreign-listeners: remove, and Herald deletes them',
  }),
  AwsKeptForeign: reasonEntry({
    brief: "The annotation with the ARN of the load balancer names one that is not the Service's",
    says: (d: { readonly id: string; readonly why: string }) =>
      `annotation herald.dev/aws-load-balancer-arn names ${d.id}, and ${d.why}: it is not touched`,
    fix: () => 'do not write that annotation: Herald maintains it; to use an existing NLB write herald.dev/aws-load-balancer',
  }),
  AwsSharedNotAdmitted: userMistake({
    brief: 'The shared load balancer of another namespace does not admit the Service',
    /** `host` is the Service that decides about the load balancer, "" for none. */
    says: (d: { readonly home: string; readonly name: string; readonly guest: string; readonly host: string }) =>
      d.host === ''
        ? `no Service of namespace ${d.home} has herald.dev/aws-shared-load-balancer: ${d.name}`
        : `Service ${d.host}, which decides about the shared load balancer, does not admit namespace ${d.guest}`,
    fix: (d) =>
      d.host === ''
        ? `create a Service with this annotation in ${d.home}, and with herald.dev/aws-shared-load-balancer-namespaces: ${d.guest}`
        : `add ${d.guest} to herald.dev/aws-shared-load-balancer-namespaces of Service ${d.host}`,
  }),
};
