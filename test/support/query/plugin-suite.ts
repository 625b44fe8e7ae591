// "kubectl ingester", as kubectl finds it on PATH.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { buildProgram } from '../../../hack/build/program.ts';
import { runCommand } from '../../../hack/local/run-command.ts';
import { eventually } from '../eventually.ts';

export interface PluginSuite {
  readonly directory: () => string;
  /** The program, and the kubeconfig of an administrator. */
  readonly kubectlPath: () => string;
  readonly kubeconfig: () => string;
  /** Of the newest incarnation of a model in ml. */
  readonly rowState: (name: string) => Promise<unknown>;
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function pluginSuite({ directory, kubectlPath, kubeconfig, rowState }: PluginSuite): void {
  describe('kubectl ingester', () => {
    let env: NodeJS.ProcessEnv = {};
    const run = async (command: string, ...args: readonly string[]): Promise<Ran> => {
      const { code, stdout, stderr } = await runCommand(command, args, { env });
      return { code, stdout, stderr };
    };
    const plugin = (...args: readonly string[]): Promise<Ran> => run('kubectl', 'ingester', ...args);
    const ok = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await plugin(...args);
      assert.equal(code, 0, stderr);
      return stdout;
    };

    before(async () => {
      const bin = join(directory(), 'bin');
      mkdirSync(bin);
      symlinkSync(kubectlPath(), join(bin, 'kubectl'));
      const program = join(directory(), 'program');
      await buildProgram(program, undefined);
      const path = [bin, join(program, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');
      env = { PATH: path, KUBECONFIG: kubeconfig(), HOME: directory() };
    });

    it('is found by kubectl', async () => {
      assert.match((await run('kubectl', 'plugin', 'list')).stdout, /bin\/kubectl-ingester/);
      assert.match(await ok('version'), /^Client version: \d+\.\d+\.\d+\nQuery API version: \d+\.\d+\.\d+\n$/);
    });

    it('lists like kubectl get, and with questions that kubectl get cannot ask', async () => {
      assert.match(await ok('get', 'models', '-n', 'ml'), /^NAME +ALGORITHM .*WHERE +AGE\nevicted +evicted-algorithm/);
      assert.equal(
        await ok('-n', 'ml', 'get', 'models', '--source=deleted', '-o', 'jsonpath={.items[*].metadata.name}'),
        'deleted deleted',
      );
      assert.equal(
        await ok('get', 'models', '-n', 'ml', '--order-by', 'metadata.name', '-o', 'name'),
        'model.stored.michelangelo.api/evicted\nmodel.stored.michelangelo.api/kept\n',
      );
      const named = ['--template', 'by-algorithm', '--param', 'algorithm=xgboost'];
      assert.equal(
        await ok('get', 'models', '-n', 'ml', ...named, '-o', 'name'),
        'model.stored.michelangelo.api/kept\n',
      );
      const ml = ['-n', 'ml'] as const;
      const sorted = ['--sort-by', '.spec.algorithm', '--no-headers', '--show-labels'];
      assert.match(await ok('get', 'models', ...ml, ...sorted), /^evicted .*\nkept /);
      assert.match(
        await ok('get', 'models,projects', ...ml, '-o', 'custom-columns=NAME:.metadata.name,KIND:.kind'),
        /^NAME +KIND\nevicted +Model\nkept +Model\n/,
      );
      assert.match(await ok('get', 'models,projects', ...ml), /\nmodel\.stored\.michelangelo\.api\/evicted /);
      assert.equal((await plugin('get', 'models,projects', 'kept', ...ml)).code, 2);
      const deleted = await run('kubectl', ...stored('get'), '--field-selector=source=deleted', '-o', 'name');
      assert.equal(deleted.stdout, 'model.stored.michelangelo.api/deleted\n'.repeat(2), deleted.stderr);
      assert.match(await ok('get', 'models', '-A', '-o', 'wide'), /^NAMESPACE +NAME .*UID +STORED\n/);
      assert.match(await ok('get', 'model', 'kept', '-n', 'ml', '-o', 'yaml'), /^apiVersion|\napiVersion: stored\./);
      const { items } = JSON.parse(await ok('get', 'models', '-n', 'paging', '-o', 'json', '--limit', '1200')) as {
        readonly items: readonly object[];
      };
      assert.equal(items.length, 1200, 'more than one page');
    });

    it('counts, filters by prefix and age, and acts as another user', async () => {
      const ml = ['models', '-n', 'ml'] as const;
      assert.equal(
        await ok('count', ...ml, '--by', 'spec.algorithm'),
        'ALGORITHM           COUNT\nevicted-algorithm   1\nxgboost             1\n',
      );
      assert.match(
        await ok('count', ...ml, '--source', 'all', '-o', 'json'),
        /"items":\[\{"group":\{\},"count":[34]\}\]/,
      );
      assert.match((await plugin('count', ...ml, '--by', 'spec.secret')).stderr, /Supported are: .*spec\.algorithm/);
      const evicted = 'model.stored.michelangelo.api/evicted\n';
      assert.equal(await ok('get', ...ml, '--name-prefix', 'ev', '--created-after', '1h', '-o', 'name'), evicted);
      const where = 'spec.algorithm != "xgboost" && metadata.name.startsWith("ev")';
      assert.equal(await ok('get', ...ml, '--where', where, '-o', 'name'), evicted);
      assert.match(
        (await plugin('get', ...ml, '--where', 'spec.secret == 1')).stderr,
        /Supported are: .*spec\.algorithm/,
      );
      assert.equal(await ok('get', ...ml, '--created-before', '1h', '-o', 'name'), '');
      assert.equal((await plugin('get', ...ml, '--as', 'mallory')).code, 5);
      assert.equal((await plugin('get', ...ml, '--as', 'mallory', '--as-group', 'system:masters')).code, 0);
    });

    it('describes an object and its history', async () => {
      const text = await ok('describe', 'model/evicted', '-n', 'ml');
      assert.match(text, /Where: +MySQL only\n[\s\S]*algorithm: evicted-algorithm[\s\S]*History:\nUID +WHERE/);
      assert.match(text, /\nEvicted: +\d{4}-.*\nBecause: +a client marked it, michelangelo\/Immutable=true\n/);
      assert.equal((await ok('history', 'model', 'deleted', '-n', 'ml')).trim().split('\n').length, 3);
    });

    it('compares two objects, wherever they are', async () => {
      const text = await ok('diff', 'model', 'kept', 'evicted', '-n', 'ml');
      assert.match(text, /^FIELD +kept +evicted\n/);
      assert.match(text, /\nspec\.algorithm +xgboost +evicted-algorithm\n/);
      const same = await plugin('diff', 'models', 'kept', 'kept', '-n', 'ml', '--status');
      assert.deepEqual([same.code, same.stdout], [0, '']);
      assert.match(same.stderr, /^Nothing differs/);
      assert.equal((await plugin('diff', 'model', 'kept', 'nothing', '-n', 'ml')).code, 4);
      assert.equal((await plugin('diff', 'model', 'kept', 'evicted', '-n', 'ml', '--as', 'mallory')).code, 5);
    });

    it('changes labels and annotations of an evicted object, and of no living one', async () => {
      const evicted = ['model', 'evicted', '-n', 'ml'];
      assert.match(await ok('label', ...evicted, 'reviewed=yes', 'none-'), /labels changed, resourceVersion \d+\n/);
      assert.match(await ok('annotate', 'model/evicted', '-n', 'ml', 'note=a', '--dry-run'), /annotations .*dry run/);
      const found = ['get', 'models', '-n', 'ml', '-l', 'reviewed=yes', '-o', 'name'];
      assert.equal(await ok(...found), 'model.stored.michelangelo.api/evicted\n');
      const overwrite = await plugin('label', ...evicted, 'reviewed=no');
      assert.equal(overwrite.code, 2, overwrite.stderr);
      assert.match(overwrite.stderr, /already has the value "yes"; --overwrite changes it/);
      const old = await plugin('label', ...evicted, 'reviewed=no', '--overwrite', '--resource-version=1');
      assert.equal(old.code, 1, old.stderr);
      assert.match(old.stderr, /the precondition resourceVersion is 1, but the object has/);
      assert.match((await plugin('label', 'model/kept', '-n', 'ml', 'a=b')).stderr, /"kept" is in the cluster/);
    });

    it('deletes evicted objects by a selector, after showing them', async () => {
      const reviewed = ['delete', 'models', '-n', 'ml', '-l', 'reviewed=yes'];
      assert.match(await ok(...reviewed, '--dry-run'), /^1 evicted models in ml would be deleted.*\n {2}evicted\n/);
      assert.match((await plugin(...reviewed)).stderr, /takes --yes/);
      assert.equal(await rowState('evicted'), 3);
      assert.equal(await ok(...reviewed, '--yes'), '1 models in ml deleted\n');
      assert.equal(await rowState('evicted'), 2);
    });

    it('restores an object, and deletes one with and without waiting', async () => {
      assert.match(await ok('restore', 'model', 'evicted', '-n', 'ml', '--dry-run'), /would be restored, from uid/);
      const selected = ['restore', 'models', '-n', 'ml', '--source=deleted', '--name-prefix=evict'] as const;
      assert.match(await ok(...selected, '--dry-run'), /^1 models in ml: 1 would be restored\n {2}evicted: would be/);
      assert.match((await plugin(...selected)).stderr, /takes --yes/);
      assert.equal((await plugin(...selected, '--yes', '--as', 'mallory')).code, 5);
      assert.match(await ok(...selected, '--yes'), /^1 models in ml: 1 restored\n {2}evicted: restored\n/);
      assert.match(await ok('restore', 'model', 'evicted', '-n', 'ml'), /restored already as uid/);
      const restored = await run('kubectl', 'get', 'models.michelangelo.api', 'evicted', '-n', 'ml', '-o', 'json');
      const { metadata } = JSON.parse(restored.stdout) as {
        readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
      };
      assert.equal(metadata.annotations['michelangelo/RequestedBy'], 'kubernetes-admin');
      assert.match(await ok('delete', 'model', 'evicted', '-n', 'ml', '--dry-run'), /dry run/);
      assert.match(await ok('delete', 'model', 'evicted', '-n', 'ml', '--wait'), /it is gone/);
      await eventually(async () => assert.equal(await rowState('evicted'), 2));
    });

    it('lets plain kubectl delete a stored object too', async () => {
      const { code, stdout, stderr } = await run('kubectl', ...stored('delete'), 'kept', '--wait=false');
      assert.equal(code, 0, stderr);
      assert.match(stdout, /"kept" deleted/);
      await eventually(async () => assert.equal(await rowState('kept'), 2));
      assert.match((await run('kubectl', ...stored('delete'), 'kept')).stderr, /NotFound/);
    });

    it('watches: prints each object again when it is stored, evicted or deleted', async () => {
      const child = spawn(kubectlPath(), ['ingester', 'get', 'models', '-n', 'ml', '--watch'], { env });
      let printed = '';
      child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      const ended = new Promise((resolve) => child.once('close', resolve));
      try {
        await ok('restore', 'model', 'kept', '-n', 'ml');
        await eventually(() => assert.match(printed, /^NAME .*WHERE +AGE\n[\s\S]*^kept .* etcd and MySQL, restored /m));
        await ok('delete', 'model', 'kept', '-n', 'ml', '--wait');
        await eventually(() => assert.match(printed, /^kept .* etcd and MySQL, restored [\s\S]*^kept .* deleted /m));
        assert.equal(printed.match(/^NAME/gm)?.length, 1);
      } finally {
        child.kill();
        await ended;
      }
      const refused = await plugin('get', 'models', '-n', 'ml', '--watch', '--where', 'has(spec.owner.name)');
      assert.equal(refused.code, 2, refused.stderr);
      assert.equal((await plugin('get', 'models', '-n', 'ml', '-w', '--as', 'mallory')).code, 5);
    });

    it('shows which kinds have most, and what belongs to an object', async () => {
      assert.match(await ok('top'), /^KIND +ROWS +LIVE .*CHANGED\nModel +\d{5}/);
      assert.match(await ok('top', '--sort-by', 'created', '--no-headers'), /^[A-Z]\w+ +\d+ /);
      const run = ['pipelinerun/ingester-test-pipelinerun', '-n', 'ingester-test'] as const;
      assert.match(
        await ok('tree', ...run),
        /^NAMESPACE .*\ningester-test +PipelineRun\/\S+ +etcd.*\ningester-test +[├└]─Pipeline\/ingester-test-pipeline +named in spec\.pipeline +etcd and MySQL/,
      );
      const { children } = JSON.parse(
        await ok('tree', 'pipeline', 'ingester-test-pipeline', '-n', 'ingester-test', '-o', 'json'),
      ) as { readonly children: readonly { readonly kind: string; readonly is: string }[] };
      assert.ok(children.some((child) => child.kind === 'PipelineRun' && child.is === 'names'));
      assert.equal((await plugin('tree', 'model', 'none', '-n', 'ml')).code, 4);
      assert.match(await ok('describe', 'model', 'kept', '-n', 'ml'), /\nEvents:/);
    });

    it('prints the status, the summary and a preview of evictions', async () => {
      assert.match(await ok('status'), /^MySQL +works/m);
      assert.equal(await ok('stuck'), '');
      assert.match(await ok('stuck', '-o', 'json'), /"kind":"StuckObjectList".*"items":\[\]/);
      assert.match(await ok('summary'), /^KIND +LIVE +EVICTED +DELETED +COMPLETE\n[\s\S]*Model +\d+/);
      const preview = await ok('evict', '--dry-run');
      assert.match(preview, /^No configuration file is named .* no server was asked/);
    });

    it('has an exit code and a message for each kind of failure', async () => {
      const failing = async (...args: readonly string[]) => {
        const { code, stderr } = await plugin(...args);
        return `${code} ${stderr.replaceAll('\n', ' ')}`;
      };
      assert.match(await failing('get', 'pods'), /^2 error: There is no kind "pods"/);
      assert.match(await failing('get', 'models', '--what'), /^2 error: unknown option/);
      assert.match(await failing('get', 'models', '--source=bogus'), /^2 error: .*Allowed choices are present, live/);
      assert.match(await failing('get', 'model', 'none', '-n', 'ml'), /^4 error: models\.\S+ "none" not found $/);
      const elsewhere =
        /^4 error: models\.\S+ "none" not found in the namespace default, that of your context; -n names/;
      assert.match(await failing('get', 'model', 'none'), elsewhere);
      assert.match(
        await failing('restore', 'model', 'none'),
        /^4 error: MySQL has no evicted or .* Model default\/none\./,
      );
      assert.match(await failing('get', 'models', '-l', 'a in'), /^1 error: .*selector is not valid/);
      assert.match(await failing('get', 'models', '--kubeconfig', '/none'), /^1 error: .*\/none/);
      assert.match(await failing('audit'), /^2 error: /);
    });

    it('completes names of objects, in bash and for kubectl', async () => {
      const script = `eval "$(kubectl-ingester completion bash)"
        COMP_WORDS=(kubectl-ingester -n paging get models m-12)
        COMP_CWORD=5
        _kubectl_ingester
        printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { code, stdout, stderr } = await run('bash', '-c', script);
      assert.equal(code, 0, stderr);
      assert.ok(
        stdout.split('\n').every((line) => line === '' || line.startsWith('m-12')),
        stdout,
      );
      const asked = await run('kubectl', '__complete', 'ingester', 'get', 'mod');
      assert.match(asked.stdout, /modelfamilys\nmodels\n:4/);
    });
  });
}

function stored(verb: string): readonly string[] {
  return [verb, 'models.stored.michelangelo.api', '-n', 'ml'];
}
