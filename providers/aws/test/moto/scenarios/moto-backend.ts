import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { motoCloud } from '../moto-cloud.ts';
import { makeAccount } from '../moto-account.ts';
import type { Moto } from '../moto.ts';
import { onVirtualTime, type AwsBackend } from './scenario-fixture.ts';

/** The emulator over HTTP, with a newly emptied account. In the emulator everything is ready at once, so its time is virtual. */
export async function motoBackend(moto: Moto): Promise<AwsBackend> {
  await moto.reset();
  return { cloud: motoCloud(moto), account: await makeAccount(moto), ...onVirtualTime(new VirtualClock()) };
}
