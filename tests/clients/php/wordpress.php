<?php
// WordPress, as Debian packs it: installed by its own functions, then used by them.
$_SERVER['HTTP_HOST'] = 'localhost';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
$_SERVER['REQUEST_URI'] = '/';
$_SERVER['SERVER_NAME'] = 'localhost';
define('WP_INSTALLING', true);
define('ABSPATH', '/usr/share/wordpress/');
define('DB_NAME', getenv('CLIENTS_DATABASE'));
define('DB_USER', getenv('CLIENTS_USER'));
define('DB_PASSWORD', getenv('CLIENTS_PASSWORD'));
define('DB_HOST', getenv('CLIENTS_HOST') . ':' . getenv('CLIENTS_PORT'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_CONTENT_DIR', ABSPATH . 'wp-content');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('SAVEQUERIES', true);
define('WP_DEBUG', false);
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $key) {
    define($key, 'x');
}
$table_prefix = 'wp_';
require ABSPATH . 'wp-settings.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

// No mail leaves this machine.
function wp_mail() {
    return true;
}

function check($what, $got, $wanted) {
    global $wpdb;
    if ($got !== $wanted) {
        fwrite(STDERR, "$what: " . json_encode($got) . ' for ' . json_encode($wanted) . ' ' . ($wpdb->last_error ?: '') . "\n");
        exit(1);
    }
}

// Every statement that the server refuses is remembered, whatever WordPress makes of it.
$wpdb->hide_errors();
$wpdb->suppress_errors(true);
wp_install('A blog', 'admin', 'admin@example.org', true, '', 'secret');
global $EZSQL_ERROR;
$refused = array_map(fn($e) => $e['error_str'] . ' in ' . preg_replace('/\s+/', ' ', $e['query']), $EZSQL_ERROR ?? []);
// It asks for its tables before they are there.
$refused = array_values(array_filter($refused, fn($e) => !str_contains($e, "doesn't exist")));
check('refused', $refused, []);

$post = wp_insert_post(['post_title' => "A 'title' \u{1f600}", 'post_content' => str_repeat('words ü ', 5000), 'post_status' => 'publish', 'tags_input' => ['red', 'blue'], 'meta_input' => ['price' => 12, 'list' => [1, 2]]], true);
check('a post', is_int($post), true);
for ($n = 0; $n < 20; $n++) {
    wp_insert_post(['post_title' => "Post $n", 'post_content' => "number $n", 'post_status' => $n % 2 ? 'publish' : 'draft', 'meta_input' => ['price' => $n]]);
}
check('a comment', is_int(wp_insert_comment(['comment_post_ID' => $post, 'comment_content' => 'yes', 'comment_author' => 'ann', 'comment_approved' => 1])), true);
check('its text', get_post($post)->post_title, "A 'title' \u{1f600}");
check('its list', get_post_meta($post, 'list', true), [1, 2]);
$found = new WP_Query(['meta_query' => [['key' => 'price', 'value' => 5, 'compare' => '>', 'type' => 'NUMERIC']], 'orderby' => 'meta_value_num', 'order' => 'ASC', 'posts_per_page' => 3]);
check('found by a number', [$found->found_posts, $found->posts[0]->post_title], [8, 'Post 7']);
$found = new WP_Query(['s' => 'words', 'tax_query' => [['taxonomy' => 'post_tag', 'field' => 'slug', 'terms' => ['red', 'green']]], 'date_query' => [['after' => '1 day ago']]]);
check('found by words', $found->posts[0]->ID ?? null, $post);
check('terms', wp_list_pluck(get_terms(['taxonomy' => 'post_tag', 'hide_empty' => false, 'orderby' => 'name']), 'name'), ['blue', 'red']);
check('archives', substr_count(wp_get_archives(['type' => 'monthly', 'echo' => false]), '<li>'), 1);
check('options', update_option('thing', ['a' => 1]) && get_option('thing') === ['a' => 1], true);
set_transient('soon', 'x', 60);
check('a transient', get_transient('soon'), 'x');
delete_expired_transients(true);
$user = wp_insert_user(['user_login' => 'bob', 'user_pass' => 'x', 'role' => 'editor']);
check('users', (new WP_User_Query(['role' => 'editor', 'count_total' => true]))->get_total(), 1);
check('counted', wp_count_posts()->publish, '12');
// Its tables are as it wants them: nothing is left for dbDelta to do.
check('dbDelta', array_values(array_filter(dbDelta('all', false), fn($l) => !str_contains($l, 'Changed type'))), []);
wp_delete_post($post, true);
check('what is left of it', $wpdb->get_var("SELECT COUNT(*) FROM $wpdb->postmeta WHERE post_id = $post"), '0');
check('the schema', count($wpdb->get_col('SHOW TABLES')), 12);
check('refused at last', $wpdb->last_error, '');
