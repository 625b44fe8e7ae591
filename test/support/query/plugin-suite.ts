// "kubectl ingester", as kubectl finds it on PATH.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { runCommand } from '../../../hack/local/run-command.ts';
import { eventually } from '../eventually.ts';

const sources = join(import.meta.dirname, '../../../src');

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

    before(() => {
      const bin = join(directory(), 'bin');
      mkdirSync(bin);
      symlinkSync(kubectlPath(), join(bin, 'kubectl'));
      for (const name of ['kubectl-ingester.ts', 'kubectl_complete-ingester']) {
        symlinkSync(join(sources, name), join(bin, name.replace('.ts', '')));
      }
      const path = [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(':');
      env = { PATH: path, KUBECONFIG: kubeconfig(), HOME: directory() };
    });

    it('is found by kubectl', async () => {
      assert.match((await run('kubectl', 'plugin', 'list')).stdout, /bin\/kubectl-ingester/);
      assert.match(await ok('version'), /^Client version: \d+\.\d+\.\d+\nQuery API version: \d+\.\d+\.\d+\n$/);
    });

    it('lists like kubectl get, and what that cannot ask', async () => {
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
      assert.match(await ok('get', 'models', '-A', '-o', 'wide'), /^NAMESPACE +NAME .*UID +STORED\n/);
      assert.match(await ok('get', 'model', 'kept', '-n', 'ml', '-o', 'yaml'), /^apiVersion|\napiVersion: stored\./);
      const { items } = JSON.parse(await ok('get', 'models', '-n', 'paging', '-o', 'json', '--limit', '1200')) as {
        readonly items: readonly object[];
      };
      assert.equal(items.length, 1200, 'more than one page');
    });

    it('describes an object and its history', async () => {
      const text = await ok('describe', 'model/evicted', '-n', 'ml');
      assert.match(text, /Where: +MySQL only\n[\s\S]*algorithm: evicted-algorithm[\s\S]*History:\nUID +WHERE/);
      assert.equal((await ok('history', 'model', 'deleted', '-n', 'ml')).trim().split('\n').length, 3);
    });

    it('does what docs/query.md shows', async () => {
      const page = readFileSync(join(sources, '../docs/query.md'), 'utf8');
      const commands = [...page.matchAll(/^kubectl ingester (.+)$/gm)].map(([, command = '']) => command);
      assert.ok(commands.length >= 12);
      for (const command of commands) {
        const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
        assert.notEqual((await ok(...words)).trim(), '', command);
      }
    });

    it('restores, and deletes without waiting or waiting', async () => {
      assert.match(await ok('restore', 'model', 'evicted', '-n', 'ml', '--dry-run'), /would be restored, from uid/);
      assert.match(await ok('restore', 'model', 'evicted', '-n', 'ml'), /restored as uid/);
      const restored = await run('kubectl', 'get', 'models.michelangelo.api', 'evicted', '-n', 'ml', '-o', 'json');
      const { metadata } = JSON.parse(restored.stdout) as {
        readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
      };
      assert.equal(metadata.annotations['michelangelo/RequestedBy'], 'kubernetes-admin');
      assert.match(await ok('delete', 'model', 'evicted', '-n', 'ml', '--dry-run'), /dry run/);
      assert.match(await ok('delete', 'model', 'evicted', '-n', 'ml', '--wait'), /it is gone/);
      await eventually(async () => assert.equal(await rowState('evicted'), 2));
    });

    it('deletes by plain kubectl too', async () => {
      const { code, stdout, stderr } = await run('kubectl', ...stored('delete'), 'kept', '--wait=false');
      assert.equal(code, 0, stderr);
      assert.match(stdout, /"kept" deleted/);
      await eventually(async () => assert.equal(await rowState('kept'), 2));
      assert.match((await run('kubectl', ...stored('delete'), 'kept')).stderr, /NotFound/);
    });

    it('says how everything is', async () => {
      assert.match(await ok('status'), /MySQL answers/);
      assert.match(await ok('summary'), /^KIND +LIVE +EVICTED +DELETED +COMPLETE\n[\s\S]*Model +\d+/);
      assert.match(await ok('evict', '--dry-run'), /No eviction rule is configured/);
    });

    it('has an exit code for each kind of failure, and says what is wrong', async () => {
      const failing = async (...args: readonly string[]) => {
        const { code, stderr } = await plugin(...args);
        return `${code} ${stderr.replaceAll('\n', ' ')}`;
      };
      assert.match(await failing('get', 'pods'), /^2 error: There is no kind "pods"/);
      assert.match(await failing('get', 'models', '--what'), /^2 error: unknown option/);
      assert.match(await failing('get', 'model', 'none', '-n', 'ml'), /^4 error: .*"none" not found/);
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
