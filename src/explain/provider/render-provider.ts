import { ageText } from '../text/age.ts';
import { isBuiltIn, unclaimed, type ProviderExplanation, type ServiceRecordExplanation } from './provider.ts';
import { renderPreview } from './render-preview.ts';
import { withFix } from '../text/reason-lines.ts';

export function renderProvider(explanation: ProviderExplanation): string[] {
  const { provider, because, others, rivals = [] } = explanation;
  const nobody = unclaimed(explanation);
  const whose =
    provider !== undefined ? [`Provider   ${provider}: ${because}`] : nobody === undefined ? [] : withFix('Provider   none: ', nobody);
  const ofModules = others.filter((other) => !isBuiltIn(other.provider) && other.reason !== nobody);
  return [
    ...whose,
    ...rivals.map((rival) => `           ${rival} claims it too, and does not get it: of one Service one provider may say so`),
    ...ofModules.flatMap((other) => withFix(`           not ${other.provider}: `, other.reason)),
    ...renderLeft(explanation),
    ...renderOutside(explanation),
  ];
}

/** Of a Service that needs no provider: what it has of one from before. */
export function renderFormer(explanation: ProviderExplanation): string[] {
  return explanation.holder === undefined ? [] : [...renderLeft(explanation), ...renderOutside(explanation)];
}

function renderLeft({ holder }: ProviderExplanation): string[] {
  return holder === undefined ? [] : [`Left with  ${holder}: what was made for the Service before, and is not let go yet`];
}

function renderOutside({ preview, noPreview }: ProviderExplanation): string[] {
  return [
    ...(preview === undefined ? [] : renderPreview(preview, preview.provider)),
    ...(noPreview === undefined ? [] : [`           ${noPreview}`]),
  ];
}

/** What is on record: conditions that are not met, or all of them where nothing else tells, and warnings of late. */
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
