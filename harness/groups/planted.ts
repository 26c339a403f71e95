/** Bugs planted outside of the core, each of which random schedules must find: a judge that cannot fail shows nothing. */
import { ofDatabases } from './planted-databases.ts';
import { ofTheLog } from './planted-log.ts';
import { ofService } from './planted-service.ts';

export const plantedBugs = [...ofTheLog, ...ofService, ...ofDatabases];
