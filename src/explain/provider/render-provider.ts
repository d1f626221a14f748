import { ageText } from '../text/age.ts';
import { isBuiltIn, unclaimed, type ProviderExplanation, type ServiceRecordExplanation } from './provider.ts';
import { renderPreview } from './render-preview.ts';
import { withFix } from '../text/reason-lines.ts';

export function renderProvider(explanation: ProviderExplanation): string[] {
  const { provider, isUnnamed, because, others, rivals = [] } = explanation;
  const noProvider = unclaimed(explanation);
  const whose =
    provider !== undefined
      ? [`Provider   ${provider}: ${because}`]
      : isUnnamed === true
        ? ['Provider   a module of the controller, which records the conditions below; name the module to see more: --provider']
        : noProvider === undefined
          ? []
          : withFix('Provider   none: ', noProvider);
  const ofModules = others.filter((other) => !isBuiltIn(other.provider) && other.reason !== noProvider);
  return [
    ...whose,
    ...rivals.map((rival) => `           ${rival} claims it too, but comes later: a Service has one provider`),
    ...ofModules.flatMap((other) => withFix(`           not ${other.provider}: `, other.reason)),
    ...renderLeft(explanation),
    ...renderOutside(explanation),
  ];
}

/** For a Service that needs no provider: lists what an earlier provider still holds for it. */
export function renderFormer(explanation: ProviderExplanation): string[] {
  return explanation.holder === undefined ? [] : [...renderLeft(explanation), ...renderOutside(explanation)];
}

function renderLeft({ holder }: ProviderExplanation): string[] {
  return holder === undefined ? [] : [`Held by    ${holder}: resources that it created for the Service and has not released yet`];
}

function renderOutside({ preview, noPreview }: ProviderExplanation): string[] {
  return [
    ...(preview === undefined ? [] : renderPreview(preview, preview.provider)),
    ...(noPreview === undefined ? [] : [`           ${noPreview}`]),
  ];
}

/** Lists recorded conditions that are not True (all of them if `all`), and recent warnings. */
export function renderRecord({ conditions, events }: ServiceRecordExplanation, all: boolean): string[] {
  const ago = (seconds: number | undefined): string => (seconds === undefined ? '' : ` for ${ageText(seconds)}`);
  const told = conditions.filter(({ status }) => all || status !== 'True');
  return [
    ...told.map(({ type, status, reason, message, secondsAgo }) => {
      const why = status === 'True' ? '' : ` (${reason}): ${message}`;
      return `Condition  ${type} is ${status}${ago(secondsAgo)}${why}`;
    }),
    ...events.map(({ reason, note, count, secondsAgo }) => {
      const last = secondsAgo === undefined ? '' : `, last ${ageText(secondsAgo)} ago`;
      return `Event      ${reason}${count === 1 ? '' : ` ${count} times`}${last}: ${note}`;
    }),
  ];
}
