// The main job of the product, chapter by chapter. Each chapter runs real commands, prints their real output, and checks
// what it claims.
import { setTimeout as delay } from 'node:timers/promises';
import { defaultKinds, kindsUnder } from '../../src/kinds/kinds.ts';
import type { DemoCluster } from './demo-cluster.ts';
import { DemoError, type Narrator, table } from './narrator.ts';

export const NS = 'ingester-test';
/** The pipeline run that the story evicts. */
export const EVICTED = 'ingester-test-pipelinerun';
const SLOW_MS = 2000;
const LIMIT_MS = 60_000;
/** How long the demo watches a deletion being held. */
const HOLD_MS = 3000;

export class Story {
  readonly #cluster: DemoCluster;
  readonly #tell: Narrator;

  constructor(cluster: DemoCluster, narrator: Narrator) {
    this.#cluster = cluster;
    this.#tell = narrator;
  }

  async tell(): Promise<void> {
    await this.#crdsStay();
    await this.#createWithKubectl();
    await this.#rowsArrive();
    await this.#patchArrives();
    await this.#deletionIsHeld();
    await this.#annotationDeletes();
    await this.#immutableLeavesEtcd();
  }

  /** Field managers of a CRD: who wrote its definition, and the API server's own, which wrote its status. */
  async #crdsStay(): Promise<void> {
    this.#tell.chapter('The CRDs are those that the cluster had before');
    const managers = await this.#kubectl(
      ...['get', 'crd', ...defaultKinds.map(({ plural }) => `${plural}.michelangelo.api`), '--show-managed-fields'],
      ...['-o', 'custom-columns=CRD:.metadata.name,MANAGERS:.metadata.managedFields[*].manager'],
    );
    const theirs = managers
      .split('\n')
      .filter((line) => /michelangelo\.api +apiserver(?:,kube-apiserver)* *$/.test(line)).length;
    if (theirs !== 13) throw new DemoError('13 CRDs that nothing but apiserver wrote', `${theirs} are`);
    this.#tell.proved(
      'All 13 are as apiserver, the API server of Michelangelo, wrote them: the bundle took them as they were.',
    );
  }

  async #createWithKubectl(): Promise<void> {
    this.#tell.chapter('Objects created with kubectl are guarded');
    await this.#kubectl('apply', '-k', 'config/samples');
    const shown = await this.#kubectl(
      ...['get', defaultKinds.map(({ plural }) => `${plural}.michelangelo.api`).join(','), '-n', NS],
      ...['-o', 'custom-columns=KIND:.kind,NAME:.metadata.name,FINALIZERS:.metadata.finalizers'],
    );
    const guarded = shown.split('\n').filter((line) => line.includes('michelangelo/Ingester')).length;
    if (guarded !== 13) throw new DemoError('13 objects with the finalizer', `${guarded} have it`);
    this.#tell.proved('All 13 objects carry the finalizer, although kubectl knows nothing of it.');
  }

  async #rowsArrive(): Promise<void> {
    this.#tell.chapter('Each object has its row in MySQL');
    const union = kindsUnder('snake_case')
      .filter(({ optional }) => !optional)
      .map(
        ({ table: name }) =>
          `SELECT '${name}' AS kind_table, COUNT(*) AS live_rows FROM ${name} WHERE namespace='${NS}' AND delete_time IS NULL`,
      )
      .join(' UNION ALL ');
    await this.#until('13 rows', async () => {
      const rows = await this.#cluster.mysql.query(union);
      return rows.every((row) => Number(row['live_rows']) === 1);
    });
    this.#tell.sql(
      "SELECT COUNT(*) FROM <each of the 13 tables> WHERE namespace='ingester-test' AND delete_time IS NULL",
    );
    this.#tell.output(table(await this.#cluster.mysql.query(union)));
    this.#tell.proved('13 objects, 13 rows.');
  }

  async #patchArrives(): Promise<void> {
    this.#tell.chapter('A change arrives');
    const select = `SELECT name, algorithm, res_version, update_time FROM model WHERE namespace='${NS}'`;
    await this.#sql(select);
    await this.#kubectl(
      'patch',
      'models.michelangelo.api',
      '-n',
      NS,
      'ingester-test-model',
      '--type=merge',
      '-p',
      '{"spec":{"algorithm":"lightgbm"}}',
    );
    await this.#until('the new algorithm', async () => (await this.#one(select))?.['algorithm'] === 'lightgbm');
    await this.#sql(select);
    this.#tell.proved('algorithm and res_version are those of the patch.');
  }

  async #deletionIsHeld(): Promise<void> {
    this.#tell.chapter('MySQL goes down: a deletion waits, nothing is lost');
    await this.#cluster.mysql.stop();
    this.#tell.say('MySQL is stopped: its process has ended.');
    await this.#kubectl('delete', 'models.michelangelo.api', '-n', NS, 'ingester-test-model', '--wait=false');
    await delay(HOLD_MS);
    const held = await this.#kubectl(
      ...['get', 'models.michelangelo.api', '-n', NS, 'ingester-test-model'],
      ...[
        '-o',
        'custom-columns=NAME:.metadata.name,DELETION:.metadata.deletionTimestamp,FINALIZERS:.metadata.finalizers',
      ],
    );
    if (!held.includes('michelangelo/Ingester')) throw new DemoError('the finalizer to hold the object', 'it is gone');
    this.#tell.proved('Terminating, and held by the finalizer, because MySQL does not know the final state yet.');
    await this.#cluster.mysql.start();
    this.#tell.say('MySQL is started again.');
    await this.#gone('models.michelangelo.api', 'ingester-test-model');
    const row = await this.#sql(`SELECT name, algorithm, res_version, delete_time FROM model WHERE namespace='${NS}'`);
    if (row?.['delete_time'] === null) throw new DemoError('delete_time to be set', 'it is NULL');
    this.#tell.proved('MySQL is back: final state stored, finalizer removed, object gone, row soft-deleted.');
  }

  async #annotationDeletes(): Promise<void> {
    this.#tell.chapter('An annotation deletes without the caller waiting');
    await this.#kubectl(
      'annotate',
      'pipelines.michelangelo.api',
      '-n',
      NS,
      'ingester-test-pipeline',
      'michelangelo/Deleting=true',
    );
    await this.#gone('pipelines.michelangelo.api', 'ingester-test-pipeline');
    const row = await this.#sql(`SELECT name, res_version, delete_time FROM pipeline WHERE namespace='${NS}'`);
    if (row?.['delete_time'] === null) throw new DemoError('delete_time to be set', 'it is NULL');
    this.#tell.proved('Soft-deleted in MySQL, then gone from the cluster.');
  }

  async #immutableLeavesEtcd(): Promise<void> {
    this.#tell.chapter('An immutable object leaves etcd and stays in MySQL');
    await this.#kubectl('annotate', 'pipelineruns.michelangelo.api', '-n', NS, EVICTED, 'michelangelo/Immutable=true');
    await this.#gone('pipelineruns.michelangelo.api', EVICTED);
    const row = await this.#sql(
      `SELECT name, delete_time, evict_time, JSON_EXTRACT(json, '$.spec.input') AS input FROM pipeline_run WHERE namespace='${NS}'`,
    );
    if (row?.['delete_time'] !== null || row['evict_time'] === null) {
      throw new DemoError('an evicted row that is not deleted', JSON.stringify(row));
    }
    this.#tell.proved('Not in etcd any more, complete in MySQL, and not deleted.');
  }

  async #kubectl(...args: readonly string[]): Promise<string> {
    this.#tell.command(`kubectl ${args.map(quoted).join(' ')}`);
    const { stdout } = await this.#cluster.access.kubectlRun(args);
    this.#tell.output(stdout);
    return stdout;
  }

  async #sql(statement: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    this.#tell.sql(statement);
    const rows = await this.#cluster.mysql.query(statement);
    this.#tell.output(table(rows));
    return rows[0];
  }

  async #one(statement: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    return (await this.#cluster.mysql.query(statement))[0];
  }

  async #gone(resource: string, name: string): Promise<void> {
    await this.#until(`${name} to leave the cluster`, async () => {
      const { code } = await this.#cluster.access.kubectlRun(['get', resource, '-n', NS, name], {
        allowFailure: true,
      });
      return code !== 0;
    });
    this.#tell.command(`kubectl get ${resource} -n ${NS} ${name}`);
    const { stderr } = await this.#cluster.access.kubectlRun(['get', resource, '-n', NS, name], {
      allowFailure: true,
    });
    this.#tell.output(stderr);
  }

  /** Waits, and says what for when it takes longer than two seconds. */
  async #until(what: string, condition: () => Promise<boolean>): Promise<void> {
    const started = performance.now();
    let nextNews = SLOW_MS;
    while (!(await condition())) {
      await delay(100);
      const waited = performance.now() - started;
      if (waited > LIMIT_MS) throw new DemoError(what, `it did not happen within ${LIMIT_MS / 1000} s`);
      if (waited < nextNews) continue;
      this.#tell.progress(`waiting for ${what}`);
      nextNews += SLOW_MS;
    }
  }
}

function quoted(argument: string): string {
  return /^[\w./:=,@-]+$/.test(argument) ? argument : `'${argument}'`;
}
