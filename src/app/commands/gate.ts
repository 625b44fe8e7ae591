import { systemClock } from '../../base/clock.ts';
import { requireStorage } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import type { MysqlOptions } from '../../storage/mysql/pool.ts';
import {
  type CloseRequest,
  closeGateWithin,
  type GateState,
  openGateOf,
  showGate,
} from '../../storage/mysql/tasks/gate-control.ts';
import { mysqlOptions } from '../mysql-options.ts';

export function runGateShow(configuration: Configuration): Promise<GateState> {
  return showGate(optionsOf(configuration), systemClock);
}

export function runGateClose(configuration: Configuration, request: Omit<CloseRequest, 'clock'>): Promise<GateState> {
  return closeGateWithin(optionsOf(configuration), { ...request, clock: systemClock });
}

export function runGateOpen(configuration: Configuration, holder: string): Promise<GateState> {
  return openGateOf(optionsOf(configuration), holder, systemClock);
}

function optionsOf(configuration: Configuration): MysqlOptions {
  requireStorage(configuration, 'the gate is a row of the database');
  return mysqlOptions(configuration);
}
