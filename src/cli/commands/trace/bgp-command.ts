import { Command } from 'commander';
import { hint, type Environment } from '../../environment/environment.ts';
import { traceCommand } from './trace-command.ts';

export function bgpCommand(environment: Environment): Command {
  const bgp = new Command('bgp')
    .description('look into the BGP sessions of the agent of this host')
    .addHelpText('after', '\nExample:\n  herald bgp trace --peer tor1');
  bgp.addCommand(traceCommand(environment).exitOverride().showHelpAfterError(hint));
  return bgp;
}
