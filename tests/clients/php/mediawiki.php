<?php
// MediaWiki, as Debian packs it: its own installer, its updater, a page that is edited and found.
$root = '/usr/share/mediawiki';
$database = getenv('CLIENTS_DATABASE');
$here = getcwd();

function run($args, $input = '') {
    global $root, $here;
    $process = proc_open(array_merge(['php'], $args), [['pipe', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes, $here, array_merge(getenv(), ['MW_CONFIG_FILE' => "$here/LocalSettings.php"]));
    fwrite($pipes[0], $input);
    fclose($pipes[0]);
    $said = stream_get_contents($pipes[1]);
    if (proc_close($process) !== 0) {
        $lines = array_values(array_filter(explode("\n", $said), fn($l) => preg_match('/error|exception/i', $l)));
        echo "$said\n", basename($args[0]), ': ', $lines[0] ?? trim($said), "\n";
        exit(1);
    }
    return $said;
}

run(["$root/maintenance/install.php", '--dbtype=mysql', '--dbserver=' . getenv('CLIENTS_HOST') . ':' . getenv('CLIENTS_PORT'), "--dbname=$database",
    '--dbuser=' . getenv('CLIENTS_USER'), '--dbpass=' . getenv('CLIENTS_PASSWORD'), '--installdbuser=' . getenv('CLIENTS_USER'), '--installdbpass=' . getenv('CLIENTS_PASSWORD'),
    '--pass=long enough 1', '--scriptpath=/w', '--server=http://localhost', "--confpath=$here", 'A wiki', 'Admin']);
run(["$root/maintenance/edit.php", '-s', 'made', '-u', 'Admin', 'A page'], "Some '''words''' [[Another page]] \u{1f600}\n[[Category:Things]]\n");
run(["$root/maintenance/edit.php", '-u', 'Admin', 'A page'], "Other words [[Another page]]\n[[Category:Things]]\n");
if (!str_contains(run(["$root/maintenance/getText.php", 'A page']), 'Other words')) {
    exit("the page was not kept\n");
}
run(["$root/maintenance/update.php", '--quick']);
run(["$root/maintenance/runJobs.php"]);
run(["$root/maintenance/rebuildrecentchanges.php"]);
run(["$root/maintenance/initSiteStats.php", '--update']);
run(["$root/maintenance/refreshLinks.php"]);
run(["$root/maintenance/namespaceDupes.php"]);
