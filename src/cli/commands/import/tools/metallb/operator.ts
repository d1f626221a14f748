import { Fields } from '../reading/fields.ts';
import { kept, to, type SourceKind } from '../reading/source-kind.ts';
import { imported, partsOf, type Tool } from '../tool.ts';

const pods = 'is about the pods of MetalLB';

/** api/v1beta1/metallb_types.go of the MetalLB operator. */
const operatorKind: SourceKind = {
  tool: 'MetalLB operator',
  kind: 'MetalLB',
  root: 'spec.',
  fields: [
    to('loadBalancerClass', 'Set `loadBalancerClass` of HeraldConfig to it, and Herald serves the same Services.'),
    to('nodeSelector', "Set it as nodeSelector of Herald's DaemonSet, and the same nodes announce."),
    kept('speakerTolerations', `${pods}: Herald's DaemonSet tolerates every taint`),
    kept('image', pods),
    kept('logLevel', pods),
    kept('controllerNodeSelector', pods),
    kept('controllerTolerations', pods),
    kept('controllerConfig', pods),
    kept('speakerConfig', pods),
    kept('bgpBackend', 'is not needed: Herald has one BGP speaker, its own'),
    kept(
      'frrk8sConfig',
      'is about FRR, which Herald does not use',
      'check whether something else needs the routes of FRRConfiguration objects',
    ),
    to('speakerGratuitousARPInterval', 'L2Advertisement `refreshInterval`: write it there.'),
  ],
};

/** The object by which an operator installs MetalLB, in OpenShift too. It configures no addresses, and stays as long as MetalLB runs. */
export const metallbOperator: Tool = {
  name: 'MetalLB operator',
  kinds: [operatorKind],
  recognises: ({ raw }) => partsOf(raw).group === 'metallb.io' && partsOf(raw).kind === 'MetalLB',
  translate: (documents) =>
    documents.map((document) => {
      const fields = Fields.of(operatorKind, document.raw['spec']);
      fields.note(
        '',
        'installs MetalLB: it has no addresses to translate',
        "keep it until Herald's agents announce: docs/how-to/migrate-from-metallb.md has the order",
      );
      const name = fields.text('loadBalancerClass');
      if (name !== undefined)
        fields.lose('loadBalancerClass', `is ${name}: HeraldConfig needs the same class`, `set loadBalancerClass: ${name} in HeraldConfig`);
      if (fields.value('nodeSelector') !== undefined)
        fields.lose('nodeSelector', "limits MetalLB's speakers to some nodes", "set the same nodeSelector in Herald's DaemonSet");
      const interval = fields.text('speakerGratuitousARPInterval');
      if (interval !== undefined)
        fields.lose(
          'speakerGratuitousARPInterval',
          `is ${interval}: an L2Advertisement has refreshInterval instead, 60s by default`,
          `set refreshInterval: ${interval} in the L2Advertisements`,
        );
      return imported(document, fields, []);
    }),
};
