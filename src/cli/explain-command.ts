import { Argument, Command } from 'commander';
import { renderService } from '../explain/render-service.ts';
import { explainService } from '../explain/service.ts';
import type { ServiceKey } from '../model/metadata.ts';
import { problemText } from '../sources/source.ts';
import { hint, UsageError, type Environment } from './environment.ts';
import { problemLines, readSource } from './read-source.ts';
import { outputOption, sourceOption, type OutputOptions } from './options.ts';

interface Options extends OutputOptions {
  readonly source: string;
}

export function explainCommand(environment: Environment): Command {
  const service = new Command('service')
    .description('why a Service has its address or not, and who announces and forwards it: pool by pool, node by node, peer by peer')
    .addArgument(new Argument('<namespace/name>', 'the Service'))
    .addOption(sourceOption().makeOptionMandatory())
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  herald explain service shop/web --source /etc/herald')
    .action(async (name: string, { source: directory, output }: Options) => {
      const { snapshot, problems } = await readSource(environment, directory);
      const key = (name.includes('/') ? name : `default/${name}`) as ServiceKey;
      const about = problems.filter(
        ({ object, severity }) => object === `Service/${key}` || (object === undefined && severity === 'error'),
      );
      const explanation = explainService(snapshot, key, environment.clock.date().getTime());
      if (explanation === undefined) {
        const because = about.map((problem) => `\n  ${problemText(problem)}`).join('');
        throw new UsageError(`there is no valid Service ${key} in ${directory}${because}`, 1);
      }
      if (output === 'json') environment.print(JSON.stringify({ ...explanation, problems: about }, undefined, 2));
      else for (const line of [...renderService(explanation), ...problemLines(about)]) environment.print(line);
    });
  return new Command('explain')
    .description('say why something is as it is')
    .addCommand(service.exitOverride().showHelpAfterError(hint))
    .addHelpText('after', '\nExample:\n  herald explain service shop/web --source /etc/herald');
}
