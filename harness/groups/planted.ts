/** Bugs planted into the product, each of which random schedules must find: a judge that cannot fail shows nothing. */
import { ofAcceptors } from './planted-acceptors.ts';
import { ofArchives } from './planted-archives.ts';
import { ofDatabases } from './planted-databases.ts';
import { inDatabaseStories } from './planted-in-database-stories.ts';
import { inStories } from './planted-in-stories.ts';
import { ofLeaders } from './planted-leaders.ts';
import { ofTheLog } from './planted-log.ts';
import { ofMembers } from './planted-members.ts';
import { ofReads } from './planted-reads.ts';
import { ofService } from './planted-service.ts';

export const plantedBugs = [
  ...ofAcceptors,
  ...ofLeaders,
  ...ofMembers,
  ...inStories,
  ...ofTheLog,
  ...ofService,
  ...ofReads,
  ...ofDatabases,
  ...inDatabaseStories,
  ...ofArchives,
];
