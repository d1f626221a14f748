import type { Cloud } from '../../cloud/cloud.ts';
import { SdkCloud } from '../../sdk/sdk-cloud.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog, type Log } from '../../../../src/system/log.ts';
import { systemRandom } from '../../../../src/system/random.ts';
import { credentials, region } from './account.ts';
import type { Moto } from './moto.ts';

/** The production implementation of the AWS port, connected to the emulator. */
export function motoCloud(moto: Moto, log: Log = silentLog, as = credentials): Cloud {
  const stopped = new AbortController().signal;
  const components = { clock: systemClock, random: systemRandom, log, stopped };
  return new SdkCloud(components, { region, endpoint: moto.endpoint, credentials: as, version: 'test' });
}
