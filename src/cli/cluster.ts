import { type Command, Option } from 'commander';
import type { ClusterState } from '../app/commands/cluster.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { printResult } from './print.ts';

export function addClusterCommand(program: Command): void {
  const cluster = program
    .command('cluster')
    .description('whose database this is: it holds the objects of one cluster, and no other one writes to it')
    .addHelpText(
      'after',
      '\nA cluster is named by the uid of its namespace kube-system. The first one that writes to a database has it from\n' +
        'then on: what is missing in a cluster counts as deleted there, so another one would end the rows of the first.',
    );
  cluster
    .command('show')
    .description('show to which cluster the database belongs, and which one this is')
    .addOption(outputOption())
    .action(async ({ output }: { readonly output: string }) => {
      const { showCluster } = await import('../app/commands/cluster.ts');
      print(output, await showCluster(prepareCommand(program, 'cluster').configuration));
    });
  cluster
    .command('take-over')
    .description('give the database to this cluster, after its objects have moved here')
    .addOption(new Option('--from <uid>', 'the cluster that has it, as "show" prints it').makeOptionMandatory())
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nStop the reconciler of the other cluster first: from now on its writes are refused. Rows whose objects are not in this\n' +
        'cluster count as deleted here; "ingester audit" lists them beforehand. docs/michelangelo-database.md has the whole way.',
    )
    .action(async ({ from, output }: { readonly from: string; readonly output: string }) => {
      const { takeOver } = await import('../app/commands/cluster.ts');
      print(output, await takeOver(prepareCommand(program, 'cluster').configuration, from));
    });
  addChangeDatabase(program, cluster);
}

function addChangeDatabase(program: Command, cluster: Command): void {
  cluster
    .command('change-database')
    .description('let this cluster use another database than the one that it has had')
    .addOption(new Option('--from <time>', 'since when it has had that one, as "show" prints it').makeOptionMandatory())
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nWhat only the database of before holds, evicted and deleted objects, is not found any more: restore its backup instead\n' +
        'where there is one. The reconciler stores the objects of the cluster in the new one. docs/disaster-recovery.md has the\n' +
        'whole way.',
    )
    .action(async ({ from, output }: { readonly from: string; readonly output: string }) => {
      const { changeDatabase } = await import('../app/commands/cluster.ts');
      print(output, await changeDatabase(prepareCommand(program, 'cluster').configuration, from));
    });
}

function print(output: string, state: ClusterState): void {
  printResult(output, state, clusterText(state));
}

function clusterText({ own, remembered, owner, since }: ClusterState): string {
  const whose = owner === own ? 'this cluster' : 'another cluster';
  const lines =
    owner === undefined
      ? [`No cluster has written to the database. This one is ${own}.`]
      : [`The database belongs to ${whose}: ${owner}, since ${since ?? '?'}.`];
  if (owner !== undefined && owner !== own) lines.push(`This one is ${own}: nothing is written from here.`);
  else if (remembered !== undefined && remembered !== since)
    lines.push(
      `This cluster has another database, the one that it has had since ${remembered}: nothing is written here.`,
    );
  return `${lines.join('\n')}\n`;
}
