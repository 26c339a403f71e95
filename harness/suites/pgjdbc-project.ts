/** The project file by which Maven compiles pgjdbc and runs its tests. Pure. The folder of the reports is the property `suite.reports`. */

export interface PgjdbcProject {
  readonly sources: string;
  /** Of the client for SCRAM that this version of pgjdbc is written for. */
  readonly scramVersion: string;
}

/** They need a Windows domain, or an OSGi container. */
const excluded = ['sspi', 'osgi'] as const;

const dependencies: readonly (readonly [group: string, artifact: string, version: string])[] = [
  ['org.junit.jupiter', 'junit-jupiter', '5.13.4'],
  ['org.junit.platform', 'junit-platform-launcher', '1.13.4'],
  ['org.junit.vintage', 'junit-vintage-engine', '5.13.4'],
  ['org.hamcrest', 'hamcrest', '3.0'],
  ['uk.org.webcompere', 'system-stubs-jupiter', '2.1.8'],
  ['org.checkerframework', 'checker-qual', '3.51.0'],
  ['org.osgi', 'org.osgi.core', '6.0.0'],
  ['org.osgi', 'org.osgi.service.jdbc', '1.0.0'],
  ['com.github.waffle', 'waffle-jna', '1.9.1'],
  ['se.jiderhamn', 'classloader-leak-test-framework', '1.1.2'],
];

export function pgjdbcProject({ sources, scramVersion }: PgjdbcProject): string {
  const needed = [['com.ongres.scram', 'scram-client', scramVersion] as const, ...dependencies];
  return `<?xml version="1.0" encoding="utf-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>barista.suites</groupId>
  <artifactId>pgjdbc-tests</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
${needed.map(dependency).join('\n')}
  </dependencies>
  <build>
    <sourceDirectory>${escaped(sources)}/pgjdbc/src/main/java</sourceDirectory>
    <resources>
      <resource><directory>${escaped(sources)}/pgjdbc/src/main/resources</directory></resource>
    </resources>
    <testSourceDirectory>${escaped(sources)}/pgjdbc/src/test/java</testSourceDirectory>
    <testResources>
      <testResource><directory>${escaped(sources)}/pgjdbc/src/test/resources</directory></testResource>
    </testResources>
    <plugins>
      <plugin>
        <groupId>org.codehaus.mojo</groupId>
        <artifactId>build-helper-maven-plugin</artifactId>
        <version>3.6.1</version>
        <executions>
          <execution>
            <id>the version</id>
            <phase>generate-sources</phase>
            <goals><goal>add-source</goal></goals>
            <configuration>
              <sources>
                <source>${escaped(sources)}/pgjdbc/src/main/version</source>
              </sources>
            </configuration>
          </execution>
          <execution>
            <id>the kit</id>
            <phase>generate-test-sources</phase>
            <goals><goal>add-test-source</goal></goals>
            <configuration>
              <sources>
                <source>${escaped(sources)}/testkit/src/main/java</source>
              </sources>
            </configuration>
          </execution>
        </executions>
      </plugin>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>3.14.1</version>
        <configuration>
          <testExcludes>
${excluded.map((name) => `            <testExclude>org/postgresql/test/${name}/**</testExclude>`).join('\n')}
          </testExcludes>
        </configuration>
      </plugin>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-surefire-plugin</artifactId>
        <version>3.5.4</version>
        <configuration>
          <testFailureIgnore>true</testFailureIgnore>
          <reportsDirectory>\${suite.reports}</reportsDirectory>
          <excludes>
            <exclude>**/*Suite*</exclude>
            <exclude>org/postgresql/replication/**</exclude>
          </excludes>
          <systemPropertyVariables>
            <build.properties.relative.path>${escaped(sources)}</build.properties.relative.path>
            <junit.jupiter.extensions.autodetection.enabled>true</junit.jupiter.extensions.autodetection.enabled>
            <junit.jupiter.execution.timeout.default>2 m</junit.jupiter.execution.timeout.default>
          </systemPropertyVariables>
        </configuration>
      </plugin>
    </plugins>
  </build>
</project>
`;
}

function dependency([group, artifact, version]: readonly [string, string, string]): string {
  const place = `<groupId>${group}</groupId><artifactId>${artifact}</artifactId>`;
  return `    <dependency>${place}<version>${version}</version></dependency>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
