import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import { removeRegistrationWithNamespace } from '../../../src/query/registration.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const REGISTRATION = '/v2.stored.michelangelo.api';

function setUp(deletionTimestamp?: string) {
  const api = new FakeApiServer();
  const registrations = api.of('apiservices');
  const common = { namespace: '', resourceVersion: '1' };
  registrations.put({
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { ...common, name: REGISTRATION.slice(1), uid: 'r' },
    spec: { service: { namespace: 'metadata', name: 'ingester-query' } },
  });
  const deleting = deletionTimestamp === undefined ? {} : { deletionTimestamp };
  const metadata = { ...common, name: 'metadata', uid: 'n', ...deleting };
  api.of('namespaces').put({ apiVersion: 'v1', kind: 'Namespace', metadata });
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const run = async () => {
    const ended = removeRegistrationWithNamespace({ client: api, clock, logger });
    await clock.advance(60_000);
    await ended;
  };
  return { api, registrations, logger, run };
}

describe('the registration of the query API, when a role ends', () => {
  it('is removed where the namespace of its Service is being deleted', async () => {
    const { registrations, run } = setUp('2026-01-01T00:00:00Z');
    await run();
    assert.equal(registrations.object(REGISTRATION), undefined);
  });

  it('is removed although its status changes at that moment, as it does when its endpoints go, and the API server is busy', async () => {
    const { registrations, run } = setUp('2026-01-01T00:00:00Z');
    registrations.failures.push({ call: 'get', error: new KubeError('Unavailable', 'no') });
    for (let each = 0; each < 3; each += 1) {
      registrations.failures.push({ call: 'delete:default', error: new KubeError('Conflict', 'changed') });
    }
    await run();
    assert.equal(registrations.object(REGISTRATION), undefined);
  });

  it('stays where the role ends for another reason', async () => {
    const { registrations, run } = setUp();
    await run();
    assert.ok(registrations.object(REGISTRATION) !== undefined);
  });

  it('is left alone by a role that may not read it, or finds none', async () => {
    for (const reason of ['Forbidden', 'NotFound'] as const) {
      const { registrations, run } = setUp('2026-01-01T00:00:00Z');
      registrations.failures.push({ call: 'get', error: new KubeError(reason, 'no') });
      await run();
      assert.ok(registrations.object(REGISTRATION) !== undefined, reason);
    }
  });
});
