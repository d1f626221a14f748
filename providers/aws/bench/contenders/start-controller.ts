import { credentials, region } from '../../test/moto/account.ts';
import { killedWithParent } from '../../../../test/conformance/foreground.ts';
import { LabProcess } from '../../../../test/lab/lab-process.ts';

interface Start {
  readonly argv: readonly string[];
  readonly logFile: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The line of its log after which the controller works. */
  readonly started: RegExp;
}

/** Starts a controller with the credentials of the emulated account. */
export async function startController({ argv, logFile, environment, started }: Start): Promise<LabProcess> {
  const controller = new LabProcess(killedWithParent(argv), {
    logFile,
    record: () => undefined,
    env: {
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_REGION: region,
      AWS_EC2_METADATA_DISABLED: 'true',
      ...environment,
    },
  });
  await controller.waitForLine(started, 60_000);
  return controller;
}
