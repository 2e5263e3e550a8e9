# Compiles the classes and packs them with the native libraries, and packs the sources. Run by a custom command of
# CMakeLists.txt, which sets JAVAC, JAR, OUTPUT, VERSION, CLASSES, SOURCES, SOURCES_JAR, LICENSE and NATIVES.
file(REMOVE_RECURSE ${CLASSES})
file(GLOB_RECURSE sources ${SOURCES}/*.java)
execute_process(COMMAND ${JAVAC} --release 17 -parameters -Xlint:all -Xdoclint:all/protected -Xpkginfo:always -Werror
                        --module-version ${VERSION} -d ${CLASSES} ${sources}
                COMMAND_ERROR_IS_FATAL ANY)

# The sums list the libraries for Natives.java, and name the folder to which it unpacks them.
set(folder ${CLASSES}/org/halftone/natives/linux-x86_64)
file(MAKE_DIRECTORY ${folder})
set(sums "")
foreach(library ${NATIVES})
  cmake_path(GET library FILENAME name)
  file(REAL_PATH ${library} content)
  file(COPY_FILE ${content} ${folder}/${name})
  file(SHA256 ${content} sum)
  string(APPEND sums "${sum}  ${name}\n")
endforeach()
file(WRITE ${folder}/natives.sha256 "${sums}")
file(COPY ${LICENSE} DESTINATION ${CLASSES}/META-INF)
execute_process(COMMAND ${JAR} cf ${OUTPUT} -C ${CLASSES} . COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${JAR} cf ${SOURCES_JAR} -C ${SOURCES} . -C ${CLASSES} META-INF COMMAND_ERROR_IS_FATAL ANY)
