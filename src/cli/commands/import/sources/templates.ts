/** Placeholders of Helm and Jinja, of Flux, envsubst and Terraform, values that are one variable, and words in angle brackets. */
const placeholders = [/\{\{/, /\{%/, /\$\{[A-Za-z_][^}\n]*\}/, /^\$[A-Za-z_]\w*$/, /<(?:path|change|your)[ :_-][^>\n]*>/i];

/** True for a text with placeholders, which another program replaces before the text is used. */
export const isTemplate = (text: string): boolean => placeholders.some((one) => one.test(text));

/** True when a text inside of the value is a placeholder: the value is not what will be in the cluster. */
export function hasPlaceholder(value: unknown, levels = 12): boolean {
  if (typeof value === 'string') return isTemplate(value);
  if (typeof value !== 'object' || value === null || levels === 0) return false;
  return Object.entries(value).some(([name, one]) => isTemplate(name) || hasPlaceholder(one, levels - 1));
}

/** What stands in the configuration of a supported program, and hardly anywhere else. */
const words =
  /address-pools|configInline|kind:\s*(?:IPAddressPool|AddressPool|L2Advertisement|BGPPeer|BGPAdvertisement|Cilium(?:LoadBalancerIPPool|BGP|L2)|BGPConfiguration|IPPool|ServiceGroup|LBNodeAgent|Eip|BgpPeer|BgpConf)|(?:range|cidr)-global|vip_interface|bgp_routerid|--peer-router-ips/;

/** True for a text that is likely to configure a program that `herald import` reads. */
export const mentionsTool = (text: string): boolean => words.test(text);

/** Names of files that are templates, whatever they contain. */
export const isTemplateName = (name: string): boolean => /\.(?:j2|jinja2?|tpl|tmpl|gotmpl)$/.test(name);
