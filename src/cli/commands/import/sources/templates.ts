/** Placeholders of Helm and Jinja, of Flux, envsubst and Terraform, values that are one variable, and words in angle brackets. */
const placeholders = [/\{\{/, /\{%/, /\$\{[A-Za-z_][^}\n]*\}/, /^\$[A-Za-z_]\w*$/, /<(?:path|change|your)[ :_-][^>\n]*>/i];

/** True for a text with placeholders, which another program replaces before the text is used. */
export const isTemplate = (text: string): boolean => placeholders.some((one) => one.test(text));

/** Values that SOPS encrypted. */
const encrypted = /^ENC\[AES256_GCM,/;

/** Says why a value is not what will be in the cluster: a text inside of it is a placeholder, or encrypted. Undefined: it is. */
export function unfinished(value: unknown, levels = 12): string | undefined {
  if (typeof value === 'string') {
    if (encrypted.test(value)) return 'is encrypted: decrypt it first';
    return isTemplate(value) ? 'is a template: render it first' : undefined;
  }
  if (typeof value !== 'object' || value === null || levels === 0) return undefined;
  for (const [name, one] of Object.entries(value)) {
    const found = unfinished(name, 0) ?? unfinished(one, levels - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What stands in the configuration of a supported program, and hardly anywhere else. */
const words =
  /address-pools|configInline|kind:\s*(?:IPAddressPool|AddressPool|L2Advertisement|BGPPeer|BGPAdvertisement|Cilium(?:LoadBalancerIPPool|BGP|L2)|BGPConfiguration|IPPool|ServiceGroup|LBNodeAgent|Eip|BgpPeer|BgpConf|KubeProxyConfiguration)|kube-proxy-arg|(?:range|cidr)-global|vip_interface|bgp_routerid|--peer-router-ips/;

/** True for a text that is likely to configure a program that `herald import` reads. */
export const mentionsTool = (text: string): boolean => words.test(text);

/** Names of files that are templates, whatever they contain. */
export const isTemplateName = (name: string): boolean => /\.(?:j2|jinja2?|tpl|tmpl|gotmpl)$/.test(name);

/** Returns kind and name of the objects whose names are no placeholders, of a text that is no valid YAML as it stands. */
export function objectsInTemplate(text: string): { readonly raw: Readonly<Record<string, unknown>>; readonly object: string }[] {
  return text.split(/^---/m).flatMap((part) => {
    const kind = /^kind:\s*(\w{1,63})\s*$/m.exec(part)?.[1];
    const name = /^metadata:[^\S\n]*\n(?:[^\S\n].*\n)*?[^\S\n]+name:\s*["']?([\w.-]{1,253})["']?\s*$/m.exec(part)?.[1];
    const apiVersion = /^apiVersion:\s*(\S{1,253})\s*$/m.exec(part)?.[1] ?? '';
    return kind === undefined || name === undefined ? [] : [{ raw: { apiVersion, kind, metadata: { name } }, object: `${kind}/${name}` }];
  });
}
